// How many held-out questions a chat model answers right: node tools/chat_model/evaluate.mjs [FOLDER] [--questions N]
import {pathToFileURL} from 'node:url';
import {load} from '../../web/llm/dist/llm.js';
import {heldOut} from './conversations.mjs';

/** An answer is right if it is the text's own, letter by letter. Wrong ones are listed. */
export async function evaluate(folder, questions = 300, kinds = undefined) {
  const llm = await load(folder, {target: 'wasm', cache: false});
  const wrong = [];
  try {
    for (const {question, answer} of heldOut(questions, kinds)) {
      const {choices: [choice]} = await llm.chat.completions.create({messages: [{role: 'user', content: question}], max_tokens: 120});
      if (choice.message.content !== answer) wrong.push({question, answer, said: choice.message.content});
    }
  } finally {
    llm.dispose();
  }
  return {questions, right: questions - wrong.length, wrong};
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const words = process.argv.slice(2);
  const at = words.indexOf('--questions');
  const count = at < 0 ? 300 : Number(words.splice(at, 2)[1]);
  const {questions, right, wrong} = await evaluate(words[0] ?? 'build/chat-model', count);
  for (const {question, answer, said} of wrong.slice(0, 20)) console.log(`${question}\n  ${said}\n  right: ${answer}`);
  console.log(`${right} of ${questions} held-out questions are answered right (${((100 * right) / questions).toFixed(1)} %)`);
}
