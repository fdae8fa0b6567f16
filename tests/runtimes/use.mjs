// What a user of any runtime does: a net learns, a model that it becomes is compiled, loaded and run, and a language model answers, on wasm.
import {exportOnnx, manualSeed, nn, OnnxModel, optim, Tensor} from '@gossamer/tensor';
import {compile} from '@gossamer/compiler';
import {load as loadLanguageModel} from '@gossamer/llm';
import {load, tensor} from '@gossamer/runtime';

const check = (right, what) => {
  if (!right) throw new Error(what);
};

manualSeed(1);
const net = new nn.Sequential(new nn.Linear(1, 16), new nn.Tanh(), new nn.Linear(16, 1));
const optimizer = new optim.Adam(net.parameters(), {lr: 0.03});
const x = Tensor.linspace(-2, 2, 32).unsqueeze(1);
const y = new Tensor(Float32Array.from({length: 32}, (_, at) => Math.sin((at / 31) * 4 - 2)), {shape: [32, 1]});
let loss = NaN;
for (let step = 0; step < 120; ++step) {
  const error = nn.functional.mseLoss(net.forward(x), y);
  optimizer.zeroGrad();
  error.backward();
  optimizer.step();
  if (step % 40 === 39) loss = await error.item();
}
check(loss < 0.003, `the loss is ${loss}`);

const onnx = await exportOnnx(net, [x], {inputs: ['x'], outputs: ['y']});
const wanted = await net.forward(x).data();
const near = (made) => wanted.every((value, at) => Math.abs(value - made[at]) < 1e-5);
check(near(await new OnnxModel(onnx).call(x).data()), 'the model gives other numbers than the module');

const model = await load(await compile(onnx, {target: 'wasm'}), {device: 'wasm'});
const outputs = await model.run({x: tensor(await x.data(), [32, 1])});
check(near(await outputs.y.data()), 'the package gives other numbers than the module');
model.dispose();

const llm = await loadLanguageModel('tiny', {target: 'wasm', cache: false});
const request = {messages: [{role: 'user', content: 'hello'}], temperature: 0, max_tokens: 8};
const {choices: [{message}]} = await llm.chat.completions.create(request);
let streamed = '';
for await (const {choices: [choice]} of await llm.chat.completions.create({...request, stream: true})) streamed += choice.delta.content ?? '';
check(message.content.length > 0 && streamed === message.content, `a stream says ${streamed}, not ${message.content}`);
llm.dispose();
console.log('all right');
// Workers of wasm would keep some runtimes open.
(globalThis.process?.exit ?? globalThis.Deno?.exit)?.(0);
