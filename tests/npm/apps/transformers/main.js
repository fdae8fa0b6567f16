import {env, pipeline} from '@huggingface/transformers';

env.allowLocalModels = true;
env.allowRemoteModels = false;
env.localModelPath = '/models/';

globalThis.use = async ({device}) => {
  const pipe = await pipeline('feature-extraction', 'features', {dtype: 'q8', device});
  const {data} = await pipe(['The fog lay over the river.', 'Nobody was in a hurry'], {pooling: 'mean', normalize: true});
  return {values: Array.from(data), adapter: 'in a worker', refused: []};
};
