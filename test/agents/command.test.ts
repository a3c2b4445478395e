import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AgentLaunch } from '../../src/agents/link/agentLink.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { createRoom, failure, type AgentRoom } from '../support/agents/agent.ts'

let room: AgentRoom
beforeAll(async () => {
  room = await createRoom()
})
afterAll(() => room.close())

const command = async (argv: string[], env = {}, launch: Partial<AgentLaunch> = {}) => {
  const link = await room.open('', env, { protocol: 'command', argv, ...launch })
  await link.start()
  return link
}
const terminal = () => room.open('', {}, { protocol: 'terminal', argv: [] })

describe('a plain command as an agent', () => {
  test('gets the complete prompt as configured in its arguments, without a shell', async () => {
    const link = await command(['printf', '<%s>', 'say: {prompt}', '--', '{prompt}'])
    const prompt = 'a "b" $HOME `id` $& \\ \n--help'
    expect(await link.prompt(prompt)).toEqual({ stopReason: 'end_turn', usage: null })
    expect(room.heard.text()).toBe(`<say: ${prompt}><--><${prompt}>`)
  })

  test('gets the prompt through stdin if no argument has it, with one process per prompt', async () => {
    const link = await command(['sh', '-c', 'echo "$$:"; cat'])
    await link.prompt('größer\n')
    await link.prompt('second')
    const [, first, second] = /^(\d+):\ngrößer\n(\d+):\nsecond$/.exec(room.heard.text())!
    expect(first).not.toBe(second)
  })

  test('works in its folder, and its output is complete, also if characters are split', async () => {
    const link = await command([
      process.execPath,
      '-e',
      'const bytes = Buffer.from("€".repeat(50_000)); process.stdout.write(bytes.subarray(0, 100_001)); setTimeout(() => process.stdout.write(bytes.subarray(100_001)), 20); require("fs").writeFileSync("made.txt", "")',
    ])
    await link.prompt('')
    expect(room.heard.text()).toBe('€'.repeat(50_000))
    expect(existsSync(join(room.cwd, 'made.txt'))).toBe(true)
  })

  test.each([
    ['exit 4', 'crashed', 'The command ended with exit code 4.'],
    ['echo oh no >&2; exit 1', 'crashed', 'The command ended with exit code 1. It wrote: oh no'],
    ['kill -9 $$', 'crashed', 'The command was ended by SIGKILL.'],
    ['echo "Error: rate limit exceeded"; exit 1', 'usage_limit', 'rate limit'],
  ])('fails by its exit code: %s', async (script, reason, words) => {
    const found = await failure((await command(['sh', '-c', script])).prompt('x'))
    expect([found.reason, found.message]).toEqual([reason, expect.stringContaining(words)])
  })

  test('that is missing fails to launch, and the next prompt can start', async () => {
    const link = await command(['no-such-command'])
    for (const _ of [1, 2]) expect((await failure(link.prompt('x'))).reason).toBe('launch_failed')
  })

  test('is cancelled by ending its process', async () => {
    const link = await command(['sleep', '600'])
    const children = room.children.length
    const turn = link.prompt('x')
    await eventually('the process', () => room.children.length > children)
    await link.cancel()
    await room.children.at(-1)!.stop({ graceMs: 0 })
    expect(await turn).toEqual({ stopReason: 'cancelled', usage: null })
  })

  test('whose tools hold its output open ends when it exits', async () => {
    const link = await command(['sh', '-c', 'sleep 600 & echo done'])
    const before = performance.now()
    await link.prompt('x')
    expect([room.heard.text(), performance.now() - before < 2000 * slowdown()]).toEqual(['done\n', true])
  })
})

describe('a terminal card', () => {
  test('runs its prompt as a shell command in its folder, and reports stdout and stderr', async () => {
    const link = await terminal()
    await link.start()
    await link.prompt('pwd; echo wrong >&2; read line || echo no input')
    expect(room.heard.text()).toContain(`${room.cwd}\n`)
    expect(room.heard.text()).toContain('wrong\n')
    expect(room.heard.text()).toContain('no input\n')
    const found = await failure(link.prompt('echo broken >&2; exit 9'))
    expect(found.message).toBe('The command ended with exit code 9. It wrote: broken')
  })
})
