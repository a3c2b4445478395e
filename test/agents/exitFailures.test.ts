import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFailureExplainer } from '../../src/agents/link/exitFailures.ts'
import { createStderrTail } from '../../src/agents/link/stderrTail.ts'

/** An agent that has exited with code 1, and its explainer. */
function exitedAgent() {
  const stderr = new PassThrough()
  const tail = createStderrTail([])
  stderr.on('data', tail.add)
  const child = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr,
    exited: Promise.resolve({ code: 1, signal: null }),
  }
  return { stderr, explainer: createFailureExplainer(child, tail, [], () => false) }
}

test('the reason includes the lines of stderr that arrive after the exit', async () => {
  const { stderr, explainer } = exitedAgent()
  const explained = explainer.explain(new Error('The connection is closed.'), 'launch_failed')
  await delay(20)
  stderr.end('No conversation found.\n')
  expect((await explained).message).toBe(
    'The agent ended with exit code 1 before its session was open. It wrote: No conversation found.',
  )
})

test('the reason is reported if another process keeps stderr open', async () => {
  const { stderr, explainer } = exitedAgent()
  stderr.write('Out of credit.\n')
  expect((await explainer.explain(new Error('The connection is closed.'), 'crashed')).message).toBe(
    'The agent ended with exit code 1 during its turn. It wrote: Out of credit.',
  )
})
