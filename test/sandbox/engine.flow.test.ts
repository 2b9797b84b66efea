import { describeEngineContract } from './engine-contract/engine-contract.ts';

describeEngineContract();
