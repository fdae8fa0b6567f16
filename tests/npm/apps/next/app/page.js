import Digits from './digits.js';

export default function Page() {
  return <Digits />;
}
