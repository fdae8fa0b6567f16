"""What `gossamer serve` of a language model bears: tokens per second of 1 to 32 streams, and the time to the first token while others run.

python bench/serve_text.py MODEL [--threads N] [--tokens N] [--prompt N]     with the packages of gossamer[serve] and openai
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time

import openai

STREAMS = (1, 8, 32)
PROMPTS = (16, 128, 512)


def cpu_seconds(process):
    """Of a process, user's and system's."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def prompt_of(number, length):
    """Tokens that no other prompt begins with."""
    return [(7 * number + 13 * at) % 250 + 1 for at in range(length)]


async def text(client, number, length, tokens):
    """Seconds until the whole text is there, and its tokens."""
    begin = time.perf_counter()
    answer = await client.completions.create(model="model", prompt=prompt_of(number, length), max_tokens=tokens, temperature=0)
    return time.perf_counter() - begin, answer.usage.completion_tokens


async def measure(client, process, given):
    await text(client, 1000, 16, 4)
    for streams in STREAMS:
        begin, cpu = time.perf_counter(), cpu_seconds(process)
        made = await asyncio.gather(*(text(client, 40 * streams + at, given.prompt, given.tokens) for at in range(streams)))
        seconds, cpu, tokens = time.perf_counter() - begin, cpu_seconds(process) - cpu, sum(count for _, count in made)
        print(f"{streams:2} streams: {tokens / seconds:6.1f} tokens/s, {tokens / cpu:6.1f} tokens per second of CPU time", flush=True)
    for others in (0, max(STREAMS) - 1):
        running = [asyncio.create_task(text(client, 2000 + at, 16, 100_000)) for at in range(others)]
        await asyncio.sleep(10 if others else 0)
        for length in PROMPTS:
            seconds, _ = await text(client, 3000 + others + length, length, 1)
            print(f"first token after {seconds:5.2f} s, prompt of {length}, while {others} others run", flush=True)
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--prompt", type=int, default=16)
    given = parser.parse_args()
    words = [sys.executable, "-m", "gossamer.llm", "serve", given.model, "--name", "model", "--port", "0", "--threads", given.threads]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", timeout=3600, max_retries=0) as client:
            await measure(client, process, given)
    finally:
        process.terminate()
        process.wait()


asyncio.run(main())
