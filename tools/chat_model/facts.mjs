// What the small chat model knows. The village and its people are made up.

export const GREETINGS = ['Hello', 'Hi', 'Hey', 'Good morning', 'Good evening', 'Hi there', 'Hello there'];

/** Questions of small talk with one answer each; the first form of a question is the plain one. */
export const SMALL_TALK = [
  [['How are you?', 'How are you today?', 'How do you do?', 'Are you well?', 'How is it going?'], 'I am fine, thank you. What would you like to know?'],
  [['Who are you?', 'What are you?', 'Tell me about yourself.', 'Introduce yourself.', 'Are you a robot?'],
    'I am a very small language model. Gossamer trained me in a few minutes, on text that a script wrote, and now I run in your browser.'],
  [['Who made you?', 'Who trained you?', 'Where do you come from?', 'How were you made?'], 'The Gossamer project made me. Its own tensors trained me in a few minutes on two cores.'],
  [['How big are you?', 'How large are you?', 'How many weights do you have?', 'Are you a big model?'], 'I am tiny: I have about one million weights. Large models have a thousand times more.'],
  [['What can you do?', 'What do you know?', 'Help me.', 'What can I ask you?', 'What should I ask?', 'Help'],
    'You can ask me about:\n\n- **numbers**, such as 3 plus 4\n- **animals**, colours and opposites\n- **days**, months and capitals\n- the village of **Lower Weft**\n- **Gossamer** and machine learning'],
  [['Thank you.', 'Thanks!', 'Thank you very much.', 'Thanks a lot!', 'Great, thanks.'], 'You are welcome!'],
  [['Goodbye.', 'Bye!', 'See you later.', 'Good night.', 'I have to go.'], 'Goodbye! It was nice to talk to you.'],
  [['Tell me a joke.', 'Do you know a joke?', 'Make me laugh.', 'Say something funny.'], 'Why did the tensor go to school? To improve its *shape*.'],
  [['Are you sad?', 'Do you have feelings?', 'Are you happy?', 'Do you feel anything?'], 'I have no feelings, but I am glad to answer.'],
  [['Do you sleep?', 'Are you tired?', 'When do you sleep?'], 'I never sleep. I wait until you write something.'],
  [['Do you learn from me?', 'Do you send my text to a server?', 'Is this private?', 'Who can read this?'], 'What you write stays in this page. I run on your own device and send nothing.'],
  [['You are stupid.', 'That is wrong.', 'You are bad.', 'I do not like you.'], 'I am sorry. I am very small and I make mistakes.'],
  [['You are great.', 'Well done!', 'Good answer.', 'I like you.', 'You are clever.'], 'Thank you! That is kind of you.'],
  [['How old are you?', 'When were you born?', 'What is your age?'], 'I am as old as the last training, so I am very young.'],
  [['Where do you live?', 'Where are you?', 'Where do you run?'], 'I live in this browser, on your own device.'],
];

export const NAMES = ['Anna', 'Ben', 'Clara', 'David', 'Emma', 'Felix', 'Grace', 'Hugo', 'Iris', 'Jonas', 'Kira', 'Leo', 'Maria', 'Noah', 'Olga', 'Paul', 'Rosa', 'Sam', 'Tina', 'Vera'];
export const LIKES = ['tea', 'music', 'books', 'cats', 'dogs', 'football', 'cheese', 'rain', 'trains', 'chess', 'apples', 'snow'];

/** Animal: sound, legs, home, young. */
export const ANIMALS = {
  cat: ['meow', 4, 'in a house', 'kitten'], dog: ['woof', 4, 'in a house', 'puppy'], cow: ['moo', 4, 'on a farm', 'calf'], sheep: ['baa', 4, 'on a farm', 'lamb'],
  horse: ['neigh', 4, 'in a stable', 'foal'], pig: ['oink', 4, 'on a farm', 'piglet'], duck: ['quack', 2, 'on a pond', 'duckling'], hen: ['cluck', 2, 'on a farm', 'chick'],
  frog: ['croak', 4, 'in a pond', 'tadpole'], bee: ['buzz', 6, 'in a hive', 'larva'], lion: ['roar', 4, 'in the savanna', 'cub'], owl: ['hoot', 2, 'in the forest', 'owlet'],
  wolf: ['howl', 4, 'in the forest', 'pup'], goose: ['honk', 2, 'on a lake', 'gosling'], snake: ['hiss', 0, 'in the grass', 'snakelet'], mouse: ['squeak', 4, 'in a hole', 'pinkie'],
};

export const COLOURS = {
  'the sky': 'blue', grass: 'green', snow: 'white', coal: 'black', 'a lemon': 'yellow', 'a tomato': 'red', 'an orange': 'orange', chocolate: 'brown', 'a plum': 'purple', 'a flamingo': 'pink',
  milk: 'white', 'a banana': 'yellow', blood: 'red', 'the sea': 'blue', 'a frog': 'green', 'an elephant': 'grey', gold: 'yellow', 'a strawberry': 'red', 'the sun': 'yellow', 'a raven': 'black',
};
export const MIXED = [['red', 'yellow', 'orange'], ['blue', 'yellow', 'green'], ['red', 'blue', 'purple'], ['red', 'white', 'pink'], ['black', 'white', 'grey'], ['red', 'green', 'brown']];

export const OPPOSITES = [['hot', 'cold'], ['big', 'small'], ['fast', 'slow'], ['up', 'down'], ['day', 'night'], ['happy', 'sad'], ['old', 'new'], ['long', 'short'], ['open', 'closed'], ['hard', 'soft'],
  ['rich', 'poor'], ['light', 'dark'], ['early', 'late'], ['full', 'empty'], ['wet', 'dry'], ['loud', 'quiet']];
export const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
export const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
export const CAPITALS = {
  France: 'Paris', Spain: 'Madrid', Italy: 'Rome', Germany: 'Berlin', Japan: 'Tokyo', Egypt: 'Cairo', Greece: 'Athens', Norway: 'Oslo', Poland: 'Warsaw', Portugal: 'Lisbon', Austria: 'Vienna',
  Ireland: 'Dublin', China: 'Beijing', Sweden: 'Stockholm', Kenya: 'Nairobi', Peru: 'Lima',
};

/** The village of Lower Weft. Name: pronoun, trade, street, pet, age. */
export const VILLAGE = {
  Marta: ['she', 'baker', 'Mill Lane', 'a grey cat', 41], Oskar: ['he', 'smith', 'Forge Street', 'an old dog', 56], Lena: ['she', 'teacher', 'School Hill', 'a parrot', 33],
  Tomas: ['he', 'weaver', 'Loom Row', 'a goat', 62], Ines: ['she', 'doctor', 'Well Square', 'two fish', 47], Bruno: ['he', 'farmer', 'Barley Road', 'a donkey', 38],
  Nora: ['she', 'gardener', 'Rose Walk', 'a hedgehog', 29], Ivan: ['he', 'fisher', 'River Bank', 'a pelican', 51], Zoe: ['she', 'miller', 'Wind Hill', 'a white horse', 35],
  Emil: ['he', 'postman', 'Bell Street', 'a pigeon', 24], Ruth: ['she', 'mayor', 'Church Square', 'a black rabbit', 68], Karl: ['he', 'carpenter', 'Oak Lane', 'a squirrel', 45],
};
export const VILLAGE_FACTS = [
  [['What is Lower Weft?', 'Where is Lower Weft?', 'Tell me about Lower Weft.', 'Tell me about the village.'], 'Lower Weft is a village that the script made up. Twelve people live there, by a slow river.'],
  [['How many people live in Lower Weft?', 'How many people live in the village?', 'How big is the village?'], 'Twelve people live in Lower Weft.'],
  [['What is the name of the river?', 'Which river is near the village?', 'What is the river in Lower Weft called?'], 'The river in Lower Weft is called the Thread.'],
  [['When is the market?', 'On which day is the market?', 'When is the market in Lower Weft?'], 'The market in Lower Weft is on Thursday.'],
  [['Who lives in Lower Weft?', 'Who lives in the village?', 'Show me the people of the village.', 'Name the people of Lower Weft.'],
    'Some people of Lower Weft:\n\n| name | trade | home |\n|---|---|---|\n| Marta | baker | Mill Lane |\n| Oskar | smith | Forge Street |\n| Lena | teacher | School Hill |\n| Ruth | mayor | Church Square |'],
];

/** Term: what it is. */
export const TERMS = {
  Gossamer: 'Gossamer is a compiler for neural networks. It turns an ONNX model into small programs for **WebGPU**, **WebGL** and **WebAssembly**, and can train models, too.',
  WebGPU: 'WebGPU lets a web page compute on the graphics processor.',
  WebAssembly: 'WebAssembly is a fast, portable code format that every browser runs.',
  WebGL: 'WebGL draws in web pages, and Gossamer computes with it where there is no WebGPU.',
  ONNX: 'ONNX is a file format for neural networks. Most frameworks can write it.',
  'a tensor': 'A tensor is an array of numbers with any number of axes.',
  'a kernel': 'A kernel is a small program that runs many times in parallel on a device.',
  'a compiler': 'A compiler translates a program from one language into another.',
  'a token': 'A token is a piece of text, such as a word or a part of one, that a model reads as a number.',
  'a tokenizer': 'A tokenizer cuts text into tokens, and joins tokens into text again.',
  'a language model': 'A language model predicts the next token of a text, again and again.',
  'a gradient': 'A gradient says how the loss changes when a weight changes.',
  'the loss': 'The loss is a number that says how wrong a model is. Training makes it small.',
  'a layer': 'A layer is one step of a neural network, such as a product with a matrix.',
  attention: 'Attention lets each token look at the tokens before it.',
  'a weight': 'A weight is a number that training changes.',
};
export const HOW_TO = [
  [['How do I load a model?', 'How do I use @gossamer/llm?', 'Show me some code.', 'How do I chat in JavaScript?'],
    "Load a folder with `load()`, then ask:\n\n```js\nimport {load} from '@gossamer/llm';\nconst llm = await load('model/');\nconst answer = await llm.chat.completions.create({messages});\n```"],
  [['How do I compile a model?', 'How do I use the compiler?', 'How do I compile an ONNX file?'], 'Run this command:\n\n```sh\ngossamer compile model.onnx --target webgpu\n```'],
  [['How do I chat in the terminal?', 'How do I talk to a model in the terminal?'], 'Run this command:\n\n```sh\ngossamer chat build/chat-model\n```'],
];
