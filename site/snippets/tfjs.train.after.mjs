import {nn, optim, Tensor} from '@gossamer/tensor';

const model = new nn.Sequential(new nn.Linear(2, 16), new nn.ReLU(), new nn.Linear(16, 1), new nn.Sigmoid());
const optimizer = new optim.Adam(model.parameters(), {lr: 0.05});

const xs = new Tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
const ys = new Tensor([[0], [1], [1], [0]]);
for (let step = 0; step < 200; ++step) {
  const loss = nn.functional.binaryCrossEntropy(model.forward(xs), ys);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
}
console.log(await model.forward(xs).array());
