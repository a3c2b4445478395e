import { expect, test } from 'vitest'
import { redactAgent } from '../../src/agents/link/redactAgent.ts'
import { readTerminalOutput } from '../../src/agents/link/terminalOutput.ts'
import type { AgentLink, RawUpdate } from '../../src/agents/link/agentLink.ts'
import { toolUpdate } from '../support/agents/updates.ts'

const secret = 'sk-a-key-of-the-launch'
const writes = (toolCallId: string, data: string, more: object = {}) =>
  toolUpdate(toolCallId, { _meta: { terminal_output_delta: { data } }, ...more })

test('a secret that concurrent commands write in pieces is redacted in each output', async () => {
  const told: RawUpdate[] = []
  const { listener, link } = redactAgent([secret], {
    update: update => void told.push(update),
    permission: () => {},
    permissionWithdrawn: () => {},
  })
  const output = (id: string) =>
    told
      .filter(({ toolCallId }) => toolCallId === id)
      .map(update => readTerminalOutput(update).text ?? '')
      .join('')
  await listener.update(writes('a', 'the key is sk-a-k'))
  await listener.update(writes('b', `b: ${secret.slice(0, 10)}`))
  await listener.update(writes('a', 'ey-of-the-laun'))
  await listener.update(writes('b', secret.slice(10)))
  expect(output('a')).toBe('the key is ')
  await listener.update(writes('a', 'ch. That was it: sk-a'))
  expect([output('a'), output('b')]).toEqual(['the key is ***. That was it: ', 'b: ***'])
  await listener.update(toolUpdate('a', { status: 'completed' }))
  expect(output('a')).toBe('the key is ***. That was it: sk-a')
  await listener.update(writes('c', 'sk-'))
  await link({ prompt: async () => ({ stopReason: 'end_turn', usage: null }) } as unknown as AgentLink).prompt('go')
  expect(output('c')).toBe('sk-')
  expect(JSON.stringify(told)).not.toContain(secret)
})
