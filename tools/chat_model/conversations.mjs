// Conversations for the small chat model, drawn at random from the facts. A tenth of all questions, chosen by a hash of their text, is
// never in a training text; these are the questions of the test.
import {
  ANIMALS, CAPITALS, COLOURS, DAYS, GREETINGS, HOW_TO, LIKES, MIXED, MONTHS, NAMES, OPPOSITES, SMALL_TALK, TERMS, VILLAGE, VILLAGE_FACTS,
} from './facts.mjs';

/** Numbers in [0, 1) from a seed (mulberry32, T. Ettinger). */
export function numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pick = (random, list) => list[Math.floor(random() * list.length)];
const capital = (text) => text[0].toUpperCase() + text.slice(1);
const withArticle = (word) => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;

/** FNV-1a. */
function hashOf(text) {
  let hash = 2166136261;
  for (const letter of text) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Whether a question belongs to the test. */
export const isHeldOut = (question) => hashOf(question) % 10 === 0;

/** The same question as people write it. */
function varied(random, question) {
  const begin = pick(random, ['', '', '', '', '', 'Please tell me: ', 'Hey, ', 'Can you tell me: ', 'I want to know: ', 'So, ', 'Question: ', 'Tell me, ']);
  let text = begin === '' || random() < 0.5 ? begin + question : begin + question[0].toLowerCase() + question.slice(1);
  if (random() < 0.12) text = text.toLowerCase();
  if (random() < 0.15) text = text.replace(/[.?!]$/, '');
  return text;
}

const fixed = (list) => (random) => {
  const [questions, answer] = pick(random, list);
  return {question: pick(random, questions), answer};
};

function sums(random) {
  const a = Math.floor(random() * 10);
  const b = Math.floor(random() * 10);
  const [high, low] = [Math.max(a, b), Math.min(a, b)];
  const [sign, word, x, y, result] = pick(random, [['+', 'plus', a, b, a + b], ['-', 'minus', high, low, high - low], ['*', 'times', a, b, a * b]]);
  const forms = [`What is ${x} ${word} ${y}?`, `What is ${x} ${sign} ${y}?`, `How much is ${x} ${word} ${y}?`, `${x} ${sign} ${y} = ?`, `Calculate ${x} ${sign} ${y}.`, `${x} ${word} ${y}?`];
  return {question: pick(random, forms), answer: `${x} ${word} ${y} is **${result}**.`};
}

function comparisons(random) {
  const a = Math.floor(random() * 10);
  const b = (a + 1 + Math.floor(random() * 9)) % 10;
  const isLarger = random() < 0.5;
  const result = isLarger ? Math.max(a, b) : Math.min(a, b);
  const word = isLarger ? 'larger' : 'smaller';
  return {question: pick(random, [`Which is ${word}, ${a} or ${b}?`, `What is ${word}: ${a} or ${b}?`, `Which number is ${word}, ${a} or ${b}?`]), answer: `${result} is ${word}.`};
}

function counting(random) {
  const from = Math.floor(random() * 6);
  const to = from + 2 + Math.floor(random() * (8 - from));
  const all = Array.from({length: to - from + 1}, (_, at) => from + at);
  return {question: pick(random, [`Count from ${from} to ${to}.`, `Can you count from ${from} to ${to}?`, `Write the numbers from ${from} to ${to}.`]), answer: `${all.join(', ')}.`};
}

function animals(random, name = pick(random, Object.keys(ANIMALS)), kind = pick(random, ['sound', 'legs', 'home', 'young', 'who'])) {
  const [sound, legs, home, young] = ANIMALS[name];
  const one = withArticle(name);
  const again = (other) => animals(random, other, kind);
  switch (kind) {
    case 'sound':
      return {question: pick(random, [`What does ${one} say?`, `What sound does ${one} make?`, `How does ${one} sound?`]), answer: `${capital(one)} says "${sound}".`, again, about: one, others: Object.keys(ANIMALS)};
    case 'legs':
      return {question: pick(random, [`How many legs does ${one} have?`, `How many legs has ${one}?`]), answer: legs === 0 ? `${capital(one)} has no legs.` : `${capital(one)} has ${legs} legs.`, again, about: one, others: Object.keys(ANIMALS)};
    case 'home':
      return {question: pick(random, [`Where does ${one} live?`, `Where is the home of ${one}?`, `Where can I find ${one}?`]), answer: `${capital(one)} lives ${home}.`, again, about: one, others: Object.keys(ANIMALS)};
    case 'young':
      return {question: pick(random, [`What is a young ${name} called?`, `What do you call a baby ${name}?`, `What is the young of ${one}?`]), answer: `A young ${name} is called ${withArticle(young)}.`};
    default:
      return {question: pick(random, [`Which animal says ${sound}?`, `Which animal says "${sound}"?`, `Who says ${sound}?`]), answer: `${capital(one)} says "${sound}".`};
  }
}

function colours(random, thing = pick(random, Object.keys(COLOURS))) {
  const forms = [`What colour is ${thing}?`, `Which colour has ${thing}?`, `What is the colour of ${thing}?`, `Do you know the colour of ${thing}?`];
  return {question: pick(random, forms), answer: `${capital(thing)} is ${COLOURS[thing]}.`, again: (other) => colours(random, other), about: thing, others: Object.keys(COLOURS)};
}

function mixtures(random) {
  const [one, two, result] = pick(random, MIXED);
  const [a, b] = random() < 0.5 ? [one, two] : [two, one];
  return {question: pick(random, [`What do ${a} and ${b} make?`, `What do I get when I mix ${a} and ${b}?`, `Mix ${a} and ${b}.`, `Which colour is ${a} with ${b}?`]), answer: `${capital(a)} and ${b} make ${result}.`};
}

function opposites(random) {
  const pair = pick(random, OPPOSITES);
  const [word, other] = random() < 0.5 ? pair : [...pair].reverse();
  return {question: pick(random, [`What is the opposite of ${word}?`, `What is the contrary of ${word}?`, `Which word is the opposite of ${word}?`, `Opposite of ${word}?`]), answer: `The opposite of ${word} is ${other}.`};
}

function calendar(random) {
  const [list, kind] = random() < 0.5 ? [DAYS, 'day'] : [MONTHS, 'month'];
  const at = Math.floor(random() * list.length);
  const isAfter = random() < 0.5;
  const result = list[(at + (isAfter ? 1 : list.length - 1)) % list.length];
  const word = isAfter ? 'after' : 'before';
  return {question: pick(random, [`Which ${kind} comes ${word} ${list[at]}?`, `What ${kind} is ${word} ${list[at]}?`, `What comes ${word} ${list[at]}?`]), answer: `${result} comes ${word} ${list[at]}.`};
}

function capitals(random, country = pick(random, Object.keys(CAPITALS))) {
  const forms = [`What is the capital of ${country}?`, `Which city is the capital of ${country}?`, `Name the capital of ${country}.`, `What is the capital city of ${country}?`];
  return {question: pick(random, forms), answer: `The capital of ${country} is ${CAPITALS[country]}.`, again: (other) => capitals(random, other), about: country, others: Object.keys(CAPITALS)};
}

function village(random, name = pick(random, Object.keys(VILLAGE)), kind = pick(random, ['trade', 'street', 'pet', 'age', 'who', 'whose', 'all'])) {
  const [pronoun, trade, street, pet, age] = VILLAGE[name];
  const again = (other) => village(random, other, kind);
  const more = {again, about: name, others: Object.keys(VILLAGE), person: name};
  switch (kind) {
    case 'trade':
      return {question: pick(random, [`What does ${name} do?`, `What is the trade of ${name}?`, `What is ${name}'s job?`, `What work does ${name} do?`]), answer: `${name} is the ${trade} of Lower Weft.`, ...more};
    case 'street':
      return {question: pick(random, [`Where does ${name} live?`, `In which street does ${name} live?`, `What is the address of ${name}?`]), answer: `${name} lives in ${street}.`, ...more};
    case 'pet':
      return {question: pick(random, [`What pet does ${name} have?`, `Does ${name} have a pet?`, `Which animal does ${name} have?`]), answer: `${name} has ${pet}.`, ...more};
    case 'age':
      return {question: pick(random, [`How old is ${name}?`, `What is the age of ${name}?`]), answer: `${name} is ${age} years old.`, ...more};
    case 'who':
      return {question: pick(random, [`Who is the ${trade}?`, `Who is the ${trade} of Lower Weft?`, `Who is the ${trade} in the village?`, `What is the name of the ${trade}?`]), answer: `${name} is the ${trade} of Lower Weft.`, person: name};
    case 'whose':
      return {question: pick(random, [`Who has ${pet}?`, `Who lives in ${street}?`, `Whose home is in ${street}?`]), answer: null, pet, street, name};
    default:
      return {question: pick(random, [`Who is ${name}?`, `Tell me about ${name}.`, `What do you know about ${name}?`]), answer: `**${name}** is the ${trade} of Lower Weft. ${capital(pronoun)} is ${age} years old, lives in ${street} and has ${pet}.`, person: name};
  }
}

function villageQuestion(random, ...given) {
  const made = village(random, ...given);
  if (made.answer !== null) return made;
  return {question: made.question, answer: made.question.includes(made.pet) ? `${made.name} has ${made.pet}.` : `${made.name} lives in ${made.street}.`, person: made.name};
}

/** About the person of the question before. */
function pronounQuestion(random, name) {
  const [pronoun, trade, street, pet, age] = VILLAGE[name];
  const his = pronoun === 'she' ? 'her' : 'his';
  return pick(random, [
    {question: pick(random, [`How old is ${pronoun}?`, `And how old is ${pronoun}?`, `What is ${his} age?`]), answer: `${name} is ${age} years old.`},
    {question: pick(random, [`Where does ${pronoun} live?`, `And where does ${pronoun} live?`, `What is ${his} address?`]), answer: `${name} lives in ${street}.`},
    {question: pick(random, [`What pet does ${pronoun} have?`, `Does ${pronoun} have a pet?`, `And ${his} pet?`]), answer: `${name} has ${pet}.`},
    {question: pick(random, [`What does ${pronoun} do?`, `What is ${his} job?`]), answer: `${name} is the ${trade} of Lower Weft.`},
  ]);
}

function terms(random) {
  const term = pick(random, Object.keys(TERMS));
  return {question: pick(random, [`What is ${term}?`, `Explain ${term}.`, `What does ${term.replace(/^(a|the) /, '')} mean?`, `Can you explain ${term}?`, `Define ${term}.`]), answer: TERMS[term]};
}

const SYLLABLES = ['ba', 'dor', 'fi', 'gan', 'kel', 'lo', 'mu', 'nar', 'pe', 'quin', 'ras', 'sul', 'tav', 'vo', 'xi', 'zem'];
const invented = (random) => Array.from({length: 2 + Math.floor(random() * 2)}, () => pick(random, SYLLABLES)).join('');

/** What the model cannot know. */
function unknown(random) {
  const word = invented(random);
  const name = capital(word);
  const other = pick(random, ['cars', 'history', 'physics', 'money', 'politics', 'films', 'computers', 'songs', 'space', 'law', 'sport', 'food', 'medicine']);
  const forms = [`What is the capital of ${name}?`, `Who is ${name}?`, `Where does ${name} live?`, `What colour is ${withArticle(word)}?`, `What is ${withArticle(word)}?`, `What does ${withArticle(word)} say?`, `How old is ${name}?`,
    `Tell me about ${other}.`, `What do you think about ${other}?`, `Explain ${other}.`, `Write a poem about ${other}.`, `Do you know something about ${other}?`, `What is the weather like?`, `What time is it?`, `Who won the game?`];
  return {question: pick(random, forms), answer: 'I do not know that. I am a very small model; ask me what I can do.'};
}

function lists(random) {
  const count = 3;
  const [what, all] = pick(random, [['animals', Object.keys(ANIMALS)], ['colours', ['red', 'yellow', 'blue', 'green', 'brown', 'black', 'white']], ['countries', Object.keys(CAPITALS)], ['days', DAYS], ['months', MONTHS]]);
  const chosen = all.slice(0, count);
  return {question: pick(random, [`Name three ${what}.`, `List three ${what}.`, `Give me three ${what}.`, `Tell me three ${what}.`]), answer: `Three ${what}:\n\n${chosen.map((each, at) => `${at + 1}. ${each}`).join('\n')}`};
}

function story(random) {
  const name = pick(random, Object.keys(ANIMALS));
  const [sound, , home, young] = ANIMALS[name];
  const answer = `Once upon a time there was ${withArticle(young)}. It lived ${home} and was very small. One night it lost its way and said "${sound}". ${capital(withArticle(name))} heard it and brought it home. The end.`;
  return {question: pick(random, [`Tell me a story about ${withArticle(name)}.`, `Write a story about ${withArticle(name)}.`, `Can you tell a story about ${withArticle(name)}?`]), answer};
}

const greeting = (random) => ({question: `${pick(random, GREETINGS)}${pick(random, ['', '!', '.'])}`, answer: 'Hello! How can I help you?'});

/** Kinds of questions that need nothing that was said before, by name: the function that draws one, and how often it is called. */
export const KINDS = {
  sums: [sums, 11], comparisons: [comparisons, 3], counting: [counting, 1.2], animals: [animals, 2.5], colours: [colours, 1.5], mixtures: [mixtures, 0.7], opposites: [opposites, 1.5],
  calendar: [calendar, 2.5], capitals: [capitals, 1.5], village: [villageQuestion, 5], villageFacts: [fixed(VILLAGE_FACTS), 0.8], terms: [terms, 2], howTo: [fixed(HOW_TO), 0.8],
  smallTalk: [fixed(SMALL_TALK), 4], unknown: [unknown, 2.2], lists: [lists, 0.7], story: [story, 1], greeting: [greeting, 1],
};

/** A question of one of these kinds with its answer. */
export function question(random, kinds = KINDS) {
  const all = Object.values(kinds);
  let left = random() * all.reduce((sum, [, weight]) => sum + weight, 0);
  const [kind] = all.find(([, weight]) => (left -= weight) < 0) ?? all[0];
  const made = kind(random);
  return {...made, question: varied(random, made.question)};
}

const user = (content) => ({role: 'user', content});
const assistant = (content) => ({role: 'assistant', content});

/** Turns about the user, who is remembered. */
function acquaintance(random) {
  const name = pick(random, NAMES);
  const like = pick(random, LIKES);
  const tell = pick(random, [
    [user(pick(random, [`My name is ${name}.`, `I am ${name}.`, `Call me ${name}.`, `Hello, my name is ${name}.`, `Hi, I am ${name}.`])), assistant(`Nice to meet you, ${name}!`)],
    [user(pick(random, [`I like ${like}.`, `I love ${like}.`, `I really like ${like}.`])), assistant(`I will remember that you like ${like}.`)],
  ]);
  const isName = tell[1].content.startsWith('Nice');
  const ask = isName
    ? [user(pick(random, ['What is my name?', 'Do you know my name?', 'Who am I?', 'Do you remember my name?'])), assistant(`Your name is ${name}.`)]
    : [user(pick(random, ['What do I like?', 'Do you remember what I like?', 'What do I love?'])), assistant(`You like ${like}.`)];
  return {tell, ask};
}

/** A conversation for training, of a few questions, none of which is held out. */
export function conversation(random, kinds = KINDS) {
  const turns = [];
  const about = random() < 0.3 ? acquaintance(random) : undefined;
  if (about) turns.push(...about.tell);
  else if (random() < 0.02) turns.push(user(pick(random, ['What is my name?', 'Who am I?', 'Do you know my name?'])), assistant('You have not told me your name.'));
  const count = (about ? 0 : 1) + Math.floor(random() * (random() < 0.2 ? 12 : 4));
  for (let at = 0; at < count; ++at) {
    let made = question(random, kinds);
    while (isHeldOut(made.question)) made = question(random, kinds);
    turns.push(user(made.question), assistant(made.answer));
    if (made.again && random() < 0.35) {
      const other = pick(random, made.others);
      const next = made.again(other);
      turns.push(user(pick(random, [`And ${next.about}?`, `What about ${next.about}?`, `And what about ${next.about}?`])), assistant(next.answer));
      if (next.person) made = next;
    }
    if (made.person && random() < 0.4) {
      const next = pronounQuestion(random, made.person);
      turns.push(user(next.question), assistant(next.answer));
    }
  }
  if (about) turns.push(...about.ask);
  return turns;
}

/** `count` different questions of the test with their answers. */
export function heldOut(count, kinds = KINDS, seed = 7) {
  const random = numbers(seed);
  const found = new Map();
  while (found.size < count) {
    const made = question(random, kinds);
    if (isHeldOut(made.question)) found.set(made.question, made.answer);
  }
  return [...found].map(([text, answer]) => ({question: text, answer}));
}
