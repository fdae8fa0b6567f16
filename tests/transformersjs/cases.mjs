// What the pipelines of Transformers.js are asked. This file runs in Node.js and in pages; `library` is @huggingface/transformers.

/** Values from -1 to 1. */
export function random(seed, count) {
  let state = seed >>> 0;
  return Float32Array.from({length: count}, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** A picture of overlapping waves in three colours. Its size is the model's, because pages and Node.js resize differently. */
function picture(library, width, height) {
  const data = new Uint8ClampedArray(width * height * 3);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      for (let channel = 0; channel < 3; ++channel) data[3 * (y * width + x) + channel] = 127 + 60 * Math.sin(x / (5 + channel)) + 60 * Math.cos(y / (7 - channel));
    }
  }
  return new library.RawImage(data, width, height, 3);
}

const sound = (seconds) => random(7, 16000 * seconds).map((value, at) => 0.2 * value + 0.5 * Math.sin(at / 20) * Math.sin(at / 3000));

const PROMPT = 'In the morning the fog';

/** {name, task, checkpoint, call(pipe, library)}. Names are unique. */
export const CASES = [
  {name: 'feature-extraction', task: 'feature-extraction', checkpoint: 'features', call: (pipe) => pipe(['The fog lay over the river.', 'Nobody was in a hurry'], {pooling: 'mean', normalize: true})},
  {name: 'text-classification', task: 'text-classification', checkpoint: 'classification', call: (pipe) => pipe(['This film is wonderful', 'It was dull, slow and far too long'], {top_k: 3})},
  {name: 'token-classification', task: 'token-classification', checkpoint: 'entities', call: (pipe) => pipe('Anna Berg worked for the port of Bergen', {ignore_labels: []})},
  {name: 'zero-shot-classification', task: 'zero-shot-classification', checkpoint: 'entailment', call: (pipe) => pipe('Heat the oil, add the onions', ['cooking', 'travel', 'sport'])},
  {name: 'fill-mask', task: 'fill-mask', checkpoint: 'masked', call: (pipe) => pipe('Paris is the [MASK] of France.', {top_k: 4})},
  {name: 'question-answering', task: 'question-answering', checkpoint: 'answers', call: (pipe) => pipe('What grows in the garden?', 'Beans and tomatoes grow in the garden.', {top_k: 3})},
  {name: 'summarization', task: 'summarization', checkpoint: 't5', call: (pipe) => pipe('The train to Hamburg leaves at nine from platform two.', {max_new_tokens: 12, min_new_tokens: 6, repetition_penalty: 1.5})},
  {name: 'summarization, 2 beams', task: 'summarization', checkpoint: 't5', call: (pipe) => pipe('Every evening he walked around the walls', {max_new_tokens: 8, min_new_tokens: 4, num_beams: 2})},
  {name: 'image-classification', task: 'image-classification', checkpoint: 'vit', call: (pipe, library) => pipe(picture(library, 64, 64), {top_k: 4})},
  {name: 'image-segmentation', task: 'image-segmentation', checkpoint: 'segformer', call: (pipe, library) => pipe(picture(library, 96, 96))},
  {name: 'depth-estimation', task: 'depth-estimation', checkpoint: 'dpt', call: (pipe, library) => pipe(picture(library, 64, 64))},
  {name: 'object-detection', task: 'object-detection', checkpoint: 'yolos', call: (pipe, library) => pipe(picture(library, 96, 96), {threshold: 0.2})},
  {name: 'object-detection, DETR', task: 'object-detection', checkpoint: 'detr', call: (pipe, library) => pipe(picture(library, 160, 120), {threshold: 0.2})},
  {name: 'automatic-speech-recognition', task: 'automatic-speech-recognition', checkpoint: 'whisper', call: (pipe) => pipe(sound(1.5), {max_new_tokens: 10, min_new_tokens: 5, repetition_penalty: 1.5, language: 'en'})},
  {name: 'text-to-speech', task: 'text-to-speech', checkpoint: 'vits', call: (pipe) => pipe('the ferry waited')},
  {name: 'text-generation, greedy', task: 'text-generation', checkpoint: 'llama', call: (pipe) => pipe(PROMPT, {max_new_tokens: 24, min_new_tokens: 24, do_sample: false, repetition_penalty: 1.5})},
  {name: 'text-generation, a batch', task: 'text-generation', checkpoint: 'llama', call: (pipe) => pipe([PROMPT, 'The train'], {max_new_tokens: 12, do_sample: false, repetition_penalty: 1.5})},
  // Prompts of different lengths: the shorter one is padded on the left. The checkpoint is of grouped.mjs.
  {name: 'text-generation, a batch by GroupQueryAttention', task: 'text-generation', checkpoint: 'grouped', call: (pipe) => pipe([PROMPT, 'The train'], {max_new_tokens: 12, do_sample: false, repetition_penalty: 1.5})},
  // The scores of a prompt, which every form must get right.
  {name: 'text-generation, scores', task: 'text-generation', checkpoint: 'llama', call: async (pipe) => (await pipe.model(pipe.tokenizer(PROMPT))).logits},
  {
    name: 'text-generation, sampled', task: 'text-generation', checkpoint: 'llama',
    call(pipe, library) {
      library.random.seed(5);
      return pipe(PROMPT, {max_new_tokens: 16, do_sample: true, temperature: 1.2, top_k: 20});
    },
  },
  {name: 'text-generation, 3 beams', task: 'text-generation', checkpoint: 'llama', call: (pipe) => pipe(PROMPT, {max_new_tokens: 10, num_beams: 3, do_sample: false})},
];

/** As plain data: tensors, pictures and sounds as their values. */
export function plain(value) {
  if (ArrayBuffer.isView(value)) return Array.from(value, Number);
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  if ('ort_tensor' in value) return {dims: [...value.dims], data: plain(value.data)};
  if ('channels' in value) return {size: [value.width, value.height, value.channels], bytes: plain(value.data)};
  return Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'function').map(([key, each]) => [key, plain(each)]));
}

/** Makes pipelines, one for cases that differ in the call alone, and answers a case: {values, load, first, steady} in milliseconds, or {error}. */
export function asker(library, {dtype, device, steady = 0}) {
  const made = new Map();
  return async (name) => {
    const {task, checkpoint, call} = CASES.find((each) => each.name === name);
    try {
      const start = performance.now();
      const key = `${task} ${checkpoint}`;
      if (!made.has(key)) made.set(key, library.pipeline(task, checkpoint, {dtype, ...(device && {device})}));
      const pipe = await made.get(key);
      const loaded = performance.now();
      const values = plain(await call(pipe, library));
      const first = performance.now();
      const times = [];
      for (let at = 0; at < steady; ++at) {
        const from = performance.now();
        await call(pipe, library);
        times.push(performance.now() - from);
      }
      times.sort((a, b) => a - b);
      return {values, load: loaded - start, first: first - loaded, steady: times[Math.floor(times.length / 2)]};
    } catch (problem) {
      return {error: String(problem?.message ?? problem)};
    }
  };
}
