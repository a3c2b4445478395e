import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { hasCgroup } from '../support/sandbox/cgroups.ts'

type Settings = NonNullable<Parameters<AgentBoard['client']['projects']['update']>[0]['sandbox']>

const said = async (board: AgentBoard, cardId: string) =>
  (await board.messages(cardId)).map(({ content }) => content).join('\n')

describe.skipIf(!hasBubblewrap)('a session in the sandbox', () => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ writer: { fixture: 'reviewed' } }, { sandbox: 'auto' })
  })
  afterAll(() => board.close())

  const run = async (command: string, settings: Settings = {}): Promise<Card> => {
    const none = { memoryMiB: null, processes: null, fileMiB: null, minutes: null, network: 'full' as const }
    await board.client.projects.update({ id: board.projectId, sandbox: { ...none, ...settings } })
    const { id } = await board.client.cards.create({
      projectId: board.projectId,
      title: 'Shell',
      kind: 'terminal',
      command,
      columnId: board.columns.active,
    })
    return board.until(id, 'an end', ({ status }) => ['completed', 'failed'].includes(status), 60_000)
  }
  const sessionOf = ({ id }: Card) => board.client.agents.get({ projectId: board.projectId, cardId: id })
  const fileOf = ({ id }: Card, name: string) => join(board.dataDir, 'worktrees', board.projectId, id, name)

  test('reports its isolation', async () => {
    const defaults = { memoryMiB: expect.any(Number) as number, processes: 2048 }
    expect(await board.client.agents.sandbox()).toEqual({
      mode: 'auto',
      kind: 'bwrap',
      reason: null,
      advice: null,
      bounds: hasCgroup
        ? { kind: 'cgroup', reason: null, advice: null, defaults }
        : {
            kind: 'watched',
            reason: expect.stringContaining('control group') as string,
            advice: expect.any(String) as string,
            defaults,
          },
    })
    expect(await sessionOf(await run('true'))).toMatchObject({ sandbox: { kind: 'bwrap', network: 'full' } })
  })

  test('works in its worktree with the tools of a project', async () => {
    const card = await run(
      [
        'set -e',
        "node -e \"require('fs').writeFileSync('made', process.version)\"",
        'npm --version',
        'git status',
        'sh -c "echo 1 > $TMPDIR/x"',
        'test "$(ls -A "$HOME/.ssh" 2> /dev/null)" = ""',
      ].join('; '),
    )
    expect(card.status, (await sessionOf(card)).summary ?? '').toBe('completed')
    expect(readFileSync(fileOf(card, 'made'), 'utf8')).toBe(process.version)
  })

  test('reports the signal that ended its command', async () => {
    const card = await run('kill -9 $$')
    expect(card).toMatchObject({ status: 'failed', statusReason: 'crashed' })
  })

  test('gets time after TERM to clean up', async () => {
    const { id } = await board.client.cards.create({
      projectId: board.projectId,
      title: 'Slow',
      kind: 'terminal',
      command: 'trap "echo saved > saved; exit" TERM; touch ready; while :; do sleep 0.05; done',
      columnId: board.columns.active,
    })
    const place = { id } as Card
    await board.until(id, 'its start', () => existsSync(fileOf(place, 'ready')))
    await board.client.agents.cancel({ projectId: board.projectId, cardId: id })
    await eventually('what it saved', () => existsSync(fileOf(place, 'saved')))
    expect(readFileSync(fileOf(place, 'saved'), 'utf8')).toBe('saved\n')
  })

  test.each([
    [
      'memory',
      'node -e "const all = []; setInterval(() => all.push(Buffer.alloc(2e7, 1)), 20)"',
      { memoryMiB: 200 },
      /200 MB/,
    ],
    [
      'process',
      'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 100 & done; wait',
      { processes: 8 },
      /8 processes/,
    ],
  ] as const)(
    'ends with the reason %s_limit if it exceeds the limit of the project',
    async (name, command, settings, words) => {
      const card = await run(command, settings)
      expect(card).toMatchObject({ status: 'failed', statusReason: `${name}_limit` })
      expect(await said(board, card.id)).toMatch(words)
    },
  )

  test('ends with the reason file_limit if its command writes a file that is too large', async () => {
    const card = await run('exec head -c 3000000 /dev/zero > large', { fileMiB: 1 })
    expect(card).toMatchObject({ status: 'failed', statusReason: 'file_limit' })
  })

  test('with the network none reaches only the board', async () => {
    const other = createServer((_, response) => response.end('hello'))
    await new Promise<void>(done => other.listen(0, '127.0.0.1', done))
    const { port } = other.address() as AddressInfo
    const ask = (url: string) => `node -e "fetch('${url}').then(() => process.exit(0), () => process.exit(7))"`
    const card = await run(`${ask('$BOARD_URL/api/health')} && ! ${ask(`http://127.0.0.1:${port}`)}`, {
      network: 'none',
    })
    other.close()
    expect(card.status).toBe('completed')
    expect(await sessionOf(card)).toMatchObject({ sandbox: { network: 'none' } })
  })

  test('with the network listed reaches only listed hosts, and explains how to allow refused ones', async () => {
    const ask = 'curl -sS -o /dev/null -w "%{http_code}" http://refused.example.org/'
    const card = await run(ask, { network: 'listed', hosts: ['example.com'] })
    const asked = await eventually('the host on record', async () => {
      const { sandbox } = await sessionOf(card)
      return sandbox!.asked.length > 0 && sandbox!.asked
    })
    expect(asked).toEqual([{ host: 'refused.example.org', port: 80, allowed: false, count: 1 }])
    expect(await said(board, card.id)).toContain(
      `board projects sandbox ${board.projectId} --allow refused.example.org`,
    )
  })

  test('in plan mode changes nothing', async () => {
    const { projectId, client } = board
    const planned = async (mode: 'inherit' | 'off') => {
      await client.projects.update({ id: projectId, sandbox: { mode } })
      const card = await board.start('writer', { columnId: board.columns.backlog })
      const { sessionId } = await client.preSessions.start({ projectId, cardId: card.id })
      await eventually(
        'the end of its turn',
        async () => (await client.preSessions.get({ projectId, sessionId })).status !== 'running',
      )
      return existsSync(fileOf(card, 'notes.txt'))
    }
    expect([await planned('off'), await planned('inherit')]).toEqual([true, false])
  })

  test('runs outside of it if the project disables it, and reports that', async () => {
    const card = await run(`test -f '${join(board.dataDir, 'config.json')}'`, { mode: 'off' })
    expect(card.status).toBe('completed')
    expect(await sessionOf(card)).toMatchObject({ sandbox: { kind: 'none', network: 'full' } })
  })
})

describe('a server without a sandbox', () => {
  let board: AgentBoard
  beforeAll(async () => {
    board = await startAgentBoard({ echo: { fixture: 'echo' } }, { sandbox: 'off' })
  })
  afterAll(() => board.close())

  test('starts no agent of a project that requires one, and explains the fix', async () => {
    await board.client.projects.update({ id: board.projectId, sandbox: { mode: 'require' } })
    const { id } = await board.start('echo')
    expect(await board.untilStatus(id, 'failed')).toMatchObject({ statusReason: 'launch_failed' })
    expect(await said(board, id)).toMatch(/--sandbox auto/)
  })

  test.each([
    ['hosts', { hosts: ['*'] }],
    ['hosts', { hosts: ['http://example.org'] }],
    ['hosts', { hosts: ['example.org:99999'] }],
    ['caches', { caches: ['~/.ssh'] }],
    ['caches', { caches: ['/etc'] }],
    ['caches', { caches: ['~/../x'] }],
    ['memoryMiB', { memoryMiB: 1 }],
    ['network', { network: 'some' }],
  ])('rejects settings with wrong %s and names the field', async (field, sandbox) => {
    await expect(
      board.client.projects.update({ id: board.projectId, sandbox: sandbox as Settings }),
    ).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ path: expect.stringContaining(`sandbox.${field}`) }],
    })
  })

  test('keeps settings that a change omits', async () => {
    await board.client.projects.update({ id: board.projectId, sandbox: { network: 'listed', hosts: ['example.org'] } })
    await board.client.projects.update({ id: board.projectId, sandbox: { minutes: 5 } })
    expect((await board.client.projects.get({ id: board.projectId })).sandbox).toEqual({
      mode: 'require',
      network: 'listed',
      hosts: ['example.org'],
      caches: [],
      monitors: 'ask',
      memoryMiB: null,
      processes: null,
      fileMiB: null,
      minutes: 5,
    })
  })
})
