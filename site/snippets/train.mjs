import {exportOnnx, nn, optim, Tensor} from '@gossamer/tensor';

const x = Tensor.linspace(-2, 2, 64).unsqueeze(1);
const y = x.mul(3).sin();
const net = new nn.Sequential(new nn.Linear(1, 32), new nn.Tanh(), new nn.Linear(32, 1));
const optimizer = new optim.Adam(net.parameters(), {lr: 0.02});

for (let step = 0; step < 400; ++step) {
  const loss = nn.functional.mseLoss(net.forward(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step(); // forward, backward and step are one program
  if (step % 100 === 99) console.log(step + 1, (await loss.item()).toFixed(4));
}

const onnx = await exportOnnx(net, [x]); // bytes for `gossamer compile` or @gossamer/compiler
console.log(`${onnx.length} bytes of ONNX`);
