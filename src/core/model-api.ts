/** The kinds of model providers: OpenAI's and whatever speaks its APIs, Anthropic's, and Google's for Gemini. */
export const MODEL_APIS = ['openai', 'anthropic', 'google'] as const;
export type ModelApi = (typeof MODEL_APIS)[number];
