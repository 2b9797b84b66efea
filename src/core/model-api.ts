/** The kinds of model providers: OpenAI's and whatever speaks its APIs, and Anthropic's. */
export type ModelApi = 'openai' | 'anthropic';
