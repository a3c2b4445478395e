import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine

beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' },
    endless: { fixture: 'forever', env: { FIXTURE_EVERY_MS: '20' } },
    asking: { fixture: 'permission-first' },
    planning: { fixture: 'plan-approval' },
    double: { fixture: 'two-questions' },
    limited: { fixture: 'usage-limited' },
    later: { fixture: 'usage-limited', env: { FIXTURE_SAYING: "You've hit your limit. Try again in 5h." } },
    notes: { fixture: 'resumable' },
    calling: { fixture: 'many-calls' },
  })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const completed = async (agent: string) => {
  const { id } = await board.start(agent)
  await board.untilStatus(id, 'completed')
  return id
}
const parsed = (lines: string) =>
  lines
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))

describe('the lists of agents and sessions', () => {
  test('providers shows the installed agents and the installation command of the others', async () => {
    const providers = await cli.json<Array<{ id: string; installed: boolean; install: string | null }>>([
      'agents',
      'providers',
    ])
    expect(providers.find(({ id }) => id === 'good')).toMatchObject({ installed: true, protocol: 'acp' })
    const narrow = await cli.ok(['agents', 'providers'], { env: { BOARD_FORCE_TTY: '80', NO_COLOR: '1' } })
    const missing = providers.filter(({ installed, install }) => !installed && install?.startsWith('npm '))
    expect(
      missing.map(
        ({ id, install }) =>
          narrow.split('\n').find(line => line.startsWith(`${id} `) && line.endsWith(`  ${install}`)) === undefined,
      ),
    ).toEqual(missing.map(() => false))
    expect(await cli.ok(['agents', 'providers'])).toMatch(/^codex\tCodex\t(true|false)\tacp\topenai, custom\t/m)
  })

  test('commands are those announced by agents and those in files of the project', async () => {
    await completed('good')
    mkdirSync(join(board.path, '.claude/commands'), { recursive: true })
    writeFileSync(join(board.path, '.claude/commands/tidy.md'), '# Tidy up \u001b[2J\n')
    try {
      expect(await cli.ok(['agents', 'commands'])).toBe('review\tReview the changes\tgood\ntidy\tTidy up  [2J\t\n')
      expect(await cli.json(['agents', 'commands'])).toEqual([
        { name: 'review', description: 'Review the changes', agents: ['good'] },
        { name: 'tidy', description: 'Tidy up  [2J', agents: [] },
      ])
      expect(await cli.ok(['agents', 'commands', '-q'])).toBe('review\ntidy\n')
      const { key } = await board.client.keys.create({
        name: 'reads',
        scope: 'project',
        projectId: board.projectId,
        permissions: ['agents.read'],
      })
      expect(await cli.ok(['agents', 'commands', '--json', 'name'], { env: { BOARD_TOKEN: key } })).toBe(
        '[{"name":"review"},{"name":"tidy"}]\n',
      )
      expect(await cli.ok(['__complete', '--', 'agents', 'comm'])).toMatch(/^commands\b/)
      expect(await cli.ok(['agents', 'send', '--help'])).toContain('board agents commands')
    } finally {
      rmSync(join(board.path, '.claude'), { recursive: true })
    }
  })

  test('list shows the cards with a running agent, and -q their ids', async () => {
    const { id } = await board.start('endless', { title: 'Never done', useWorktree: false })
    await board.untilStatus(id, 'running')
    expect(await cli.ok(['agents', 'list'])).toMatch(
      new RegExp(`^${id}\tNever done\trunning\tendless\t\\d{4}-.*Z$`, 'm'),
    )
    expect((await cli.ok(['agents', 'list', '-q'])).split('\n')).toContain(id)
    await cli.ok(['cards', 'cancel', id])
    await board.untilStatus(id, 'cancelled')
    expect((await cli.ok(['agents', 'list', '-q'])).split('\n')).not.toContain(id)
  })

  test('status counts the agents that run, wait for a person and are queued, also for API keys', async () => {
    const [endless, asking] = [
      await board.start('endless', { useWorktree: false }),
      await board.start('asking', { useWorktree: false }),
    ]
    await board.untilStatus(endless.id, 'running')
    await board.untilStatus(asking.id, 'waiting')
    expect((await cli.json<{ agents: object }>(['status'])).agents).toEqual({ running: 1, waiting: 1, queued: 0 })
    expect(await cli.ok(['status'])).toContain('agents\t1 running, 1 waiting\n')
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: board.projectId,
      permissions: ['cards.read'],
    })
    expect(await cli.ok(['status', '--jq', '.agents | tostring'], { env: { BOARD_TOKEN: key } })).toBe(
      '{"running":1,"waiting":1,"queued":0}\n',
    )
    await cli.ok(['cards', 'cancel', endless.id, asking.id])
    await eventually('no running agents', async () => (await cli.ok(['status'])).includes('agents\tnone running\n'))
  })

  test('list --watch redraws the list', async () => {
    const { id } = await board.start('endless', { title: 'Watched', useWorktree: false })
    const watching = cli.start(['agents', 'list', '--watch'], { BOARD_FORCE_TTY: '100', NO_COLOR: '1' })
    await eventually('the agent', () => /Watched +running/.test(watching.stdout), 15_000)
    await cli.ok(['cards', 'cancel', id])
    await eventually('its end', () => watching.stdout.trimEnd().split('Watched').at(-1)!.includes('0 agents'), 15_000)
    watching.interrupt()
    expect((await cli.board(['agents', 'list', '--watch'])).code).toBe(2)
  })

  test('view shows until when a session waits for its usage limit, and retry starts it immediately', async () => {
    await cli.ok(['projects', 'edit', '--on-limit', 'wait'])
    const { id } = await board.start('later', { useWorktree: false })
    await board.until(id, 'the wait', card => card.status === 'queued' && card.statusReason === 'usage_limit')
    const { stdout, stderr } = await cli.board(['agents', 'view', id], {
      env: { BOARD_FORCE_TTY: '100', NO_COLOR: '1' },
    })
    expect(stdout).toMatch(/^Waits until: +in [45]h$/m)
    expect(stderr).toMatch(
      /^The agent reached its usage limit and waits until 20.* To continue now: board agents retry \d+$/m,
    )
    await cli.ok(['agents', 'retry', id])
    await eventually('the next wait', async () => {
      const systems = (await board.messages(id)).filter(({ content }) =>
        content.startsWith('Waits for the usage limit'),
      )
      return systems.length === 2
    })
    await cli.ok(['cards', 'cancel', id])
    await cli.ok(['projects', 'edit', '--on-limit', 'stop'])
  })

  test('a silent agent is reported with the possible actions', async () => {
    const quiet = await startFolderBoard(
      { silent: { fixture: 'waits-for-model', env: { FIXTURE_WAIT: 'silent' } } },
      { agentSilenceMs: 1500 },
    )
    const its = commandLine({ BOARD_URL: quiet.url, BOARD_TOKEN: quiet.token, BOARD_PROJECT: quiet.projectId })
    const { id } = await quiet.start('silent', { columnId: quiet.columns.backlog })
    expect(await its.board(['cards', 'run', id, '--wait'])).toMatchObject({
      code: 1,
      stdout: `${id}\twaiting\tsilent\tWork\n`,
      stderr: expect.stringMatching(
        new RegExp(
          `^board: card ${id} is silent: No output since .*\\nend its turn with: board cards cancel ${id}\\n`,
          'm',
        ),
      ),
    })
    const { stderr } = await its.board(['agents', 'view', id])
    expect(stderr).toMatch(
      new RegExp(
        `^The agent has been silent since [\\d:]+, and its processes are idle\\. It might continue automatically\\.\nTo see its work: .*${id}\\. To end its turn: board cards cancel ${id}\n$`,
      ),
    )
    expect(await its.json(['projects', 'edit', '--on-silence', 'end'])).toMatchObject({ onSilence: 'end' })
    await quiet.untilStatus(id, 'failed')
    expect(await its.ok(['projects', 'view'])).toContain('onSilence\tend\n')
    its.close()
    await quiet.close()
  })

  test('view, sessions and history show the details and the work of a session', async () => {
    const id = await completed('good')
    expect(await cli.json(['agents', 'view', id])).toMatchObject({
      cardId: id,
      agent: 'good',
      status: 'completed',
      usage: { inputTokens: 100, outputTokens: 20, costUsd: 0.01 },
    })
    const drawn = await cli.ok(['agents', 'view', id], { env: { BOARD_FORCE_TTY: '100', NO_COLOR: '1' } })
    expect(drawn).toMatch(/^Tokens: +120 \(100 in, 20 out\), context 1%, \$0\.01$/m)
    expect(drawn).toContain('I wrote hello.txt as asked.')
    expect(await cli.json(['agents', 'sessions', id])).toMatchObject([{ agent: 'good', status: 'completed' }])
    // The files are counted when the agent has ended.
    await eventually(
      'the count of files',
      async () => (await cli.json<Array<{ filesChanged: number }>>(['agents', 'history', id]))[0]?.filesChanged === 1,
    )
    expect(JSON.parse(await cli.ok(['agents', 'history', id, '--json', 'filesChanged,toolCalls']))).toEqual([
      { filesChanged: 1, toolCalls: 1 },
    ])
  })

  test('view of a card that never ran is idle', async () => {
    const { id } = await board.client.cards.create({ projectId: board.projectId, title: 'Idle' })
    expect(await cli.json(['agents', 'view', id])).toMatchObject({ sessionId: null, status: 'idle' })
    expect(await cli.ok(['agents', 'messages', id])).toBe('')
  })
})

describe('messages', () => {
  test('are one line each in a pipe, and a conversation on a terminal', async () => {
    const id = await completed('good')
    const lines = (await cli.ok(['agents', 'messages', id]))
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t').slice(2))
    expect(lines).toContainEqual(['thought', '', '', 'A file is wanted.'])
    expect(lines).toContainEqual(['tool', 'Write hello.txt', 'completed', ''])
    expect(lines.at(-1)).toEqual(['agent', '', '', 'I wrote hello.txt as asked.'])
    const drawn = await cli.ok(['agents', 'messages', id], {
      env: { BOARD_FORCE_TTY: '100', NO_COLOR: '1', PAGER: 'cat' },
    })
    expect(drawn).toMatch(
      /^tool {2}\d\d:\d\d:\d\d {2}Write hello\.txt {2}completed\n[^]*agent {2}\d\d:\d\d:\d\d\nI wrote hello\.txt as asked\.\n$/m,
    )
  })

  test('are paged by --limit, --since and --before, by id or by time', async () => {
    const id = await completed('good')
    const all = await cli.json<Array<{ id: string }>>(['agents', 'messages', id, '--all'])
    const ids = all.map(message => message.id)
    expect(ids.length).toBeGreaterThan(4)
    const told = async (...args: string[]) =>
      (await cli.ok(['agents', 'messages', id, '-q', ...args])).trim().split('\n').filter(Boolean)
    expect(await told('--limit', '2')).toEqual(ids.slice(-2))
    expect(await told('--since', ids[1]!)).toEqual(ids.slice(2))
    expect(await told('--before', ids[2]!)).toEqual(ids.slice(0, 2))
    expect(await told('--since', '1h')).toEqual(ids)
    expect(await told('--before', '2020-01-01')).toEqual([])
    const cut = ['agents', 'messages', id, '--since', '0', '--limit', '1']
    expect(await cli.board([...cut, '-q'])).toEqual({ code: 0, stdout: `${ids[0]}\n`, stderr: '' })
    const { stderr } = await cli.board(cut)
    expect(stderr).toBe('warning: there are more messages; these are the first 1. --all shows every message\n')
    expect((await cli.board(['agents', 'messages', id, '--since', 'yesterday'])).code).toBe(2)
  })

  test('hidden thoughts and kinds of tools are omitted, except in JSON', async () => {
    const id = await completed('good')
    await cli.ok(['settings', 'set', 'user', '-f', 'agentReasoning=false', '-f', 'hiddenToolTypes=["edit"]'])
    try {
      const roles = (await cli.ok(['agents', 'messages', id]))
        .trimEnd()
        .split('\n')
        .map(line => line.split('\t')[2])
      expect(roles).not.toContain('thought')
      expect(roles).not.toContain('tool')
      expect((await cli.json<Array<{ role: string }>>(['agents', 'messages', id])).map(({ role }) => role)).toEqual(
        expect.arrayContaining(['thought', 'tool']),
      )
    } finally {
      await cli.ok(['settings', 'set', 'user', '-f', 'agentReasoning=true', '-f', 'hiddenToolTypes=[]'])
    }
  })

  test('-f starts with the last messages and prints each complete message once', async () => {
    const id = await completed('good')
    const following = cli.start(['agents', 'messages', id, '-f', '--json'])
    await eventually(
      'the earlier messages',
      () => parsed(following.stdout).some(({ content }) => content === 'I wrote hello.txt as asked.'),
      10_000,
    )
    await cli.ok(['agents', 'send', id, 'Once more'])
    await eventually(
      'what came later',
      () =>
        parsed(following.stdout).some(
          ({ role, tool }) => role === 'tool' && tool.status === 'completed' && tool.locations.length > 0,
        ),
      10_000,
    )
    await board.untilStatus(id, 'completed')
    const stored = await board.client.agents.messages({ projectId: board.projectId, cardId: id })
    await eventually('every message', () => parsed(following.stdout).length === stored.length, 10_000)
    const seen = parsed(following.stdout).sort((a, b) => a.id - b.id)
    expect(seen).toEqual(stored)
    following.interrupt()
    await eventually('the end', () => following.code === 130)
  })

  test('-f on a terminal prints a text as it grows, under one header', async () => {
    const { id } = await board.start('endless', { useWorktree: false })
    await board.untilStatus(id, 'running')
    const following = cli.start(['agents', 'messages', id, '-f'], { BOARD_FORCE_TTY: '100', NO_COLOR: '1' })
    await eventually(
      'a growing text',
      () => /Still at it \(1\)\. Still at it \(2\)\. .*Still at it \(30\)\. /.test(following.stdout),
      15_000,
    )
    expect(following.stdout.match(/^agent {2}/gm)).toHaveLength(1)
    await cli.ok(['cards', 'cancel', id])
    await eventually('word of the end', () => following.stderr.includes('cancelled'), 10_000)
    following.interrupt()
    await eventually('the end', () => following.code !== undefined)
    const rounds = [...following.stdout.matchAll(/\((\d+)\)/g)].map(match => Number(match[1]))
    expect(rounds).toEqual(rounds.map((_, at) => at + 1))
  })

  test('-f in a pipe also prints the last message of a cancelled agent', async () => {
    const { id } = await board.start('endless', { useWorktree: false })
    await board.untilStatus(id, 'running')
    const following = cli.start(['agents', 'messages', id, '-f', '--json'])
    await eventually('the prompt', () => parsed(following.stdout).length > 0, 10_000)
    await eventually('a word', async () => (await board.messages(id)).some(({ role }) => role === 'agent'), 10_000)
    await cli.ok(['cards', 'cancel', id])
    const text = await eventually(
      'what it said',
      () => parsed(following.stdout).find(({ role }) => role === 'agent'),
      15_000,
    )
    expect(text).toEqual((await board.messages(id)).find(({ role }) => role === 'agent'))
    following.interrupt()
    await eventually('the end', () => following.code === 130)
  })

  test('-f that starts while an agent writes without a pause omits nothing', async () => {
    const { id } = await board.start('calling', { useWorktree: false })
    await board.untilStatus(id, 'running')
    const following = [0, 1, 2].map(() => cli.start(['agents', 'messages', id, '-f', '--json', '--limit', '1000']))
    await board.untilStatus(id, 'completed')
    const stored = await board.client.agents.messages({ projectId: board.projectId, cardId: id, limit: 1000 })
    expect(stored.length).toBeGreaterThan(500)
    for (const each of following) {
      await eventually('the last message', () => each.stdout.includes('"Call 500"'), 15_000)
      expect(parsed(each.stdout).map(message => message.id)).toEqual(stored.map(message => message.id))
      each.interrupt()
    }
  })
})

describe('steering', () => {
  test('send takes the message as an argument, from a file or from stdin', async () => {
    const id = await completed('notes')
    await cli.ok(['agents', 'send', id, 'first'])
    await board.untilStatus(id, 'completed')
    await cli.ok(['agents', 'send', id, '-F', '-'], { input: 'second\nline' })
    await eventually('both messages', async () => {
      const told = (await board.messages(id)).filter(({ role }) => role === 'user').map(({ content }) => content)
      return told.includes('first') && told.includes('second\nline')
    })
    expect((await cli.board(['agents', 'send', id])).code).toBe(2)
    expect((await cli.board(['agents', 'send', id, 'x', '-F', '-'], { input: 'y' })).code).toBe(2)
    expect((await cli.board(['agents', 'send', '9999', 'x'])).code).toBe(3)
  })

  test('relaunch --wait starts a new session and waits for the end; retry of a running one is a conflict', async () => {
    const id = await completed('good')
    expect(await cli.ok(['agents', 'relaunch', id, '--wait'])).toBe(`${id}\tcompleted\t\tWork\n`)
    expect(await cli.json(['agents', 'sessions', id])).toHaveLength(2)
    const { id: busy } = await board.start('endless', { useWorktree: false })
    await board.untilStatus(busy, 'running')
    expect((await cli.board(['agents', 'retry', busy])).code).toBe(5)
    await cli.ok(['cards', 'cancel', busy])
    expect((await cli.board(['cards', 'cancel', busy])).code).toBe(5)
  })

  test('relaunch --wait of an agent that fails exits with 1 and the reason', async () => {
    const { id } = await board.start('limited', { useWorktree: false })
    await board.untilStatus(id, 'failed')
    const { code, stdout, stderr } = await cli.board(['agents', 'relaunch', id, '--wait'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${id}\tfailed\tusage_limit\tWork\n` })
    expect(stderr).toContain(`card ${id} failed: usage_limit\nsee: board agents messages ${id}`)
  })

  test('approve answers the displayed question: with two it requires the id of one', async () => {
    const { id } = await board.start('double', { useWorktree: false })
    const questions = await eventually('two questions', async () => {
      const { questions: open } = await board.client.agents.get({ projectId: board.projectId, cardId: id })
      return open.length === 2 ? open : undefined
    })
    const [first, second] = questions.map(({ requestId }) => requestId) as [string, string]
    const which = await cli.board(['agents', 'approve', id])
    expect(which).toMatchObject({
      code: 5,
      stderr: `board: the agent has 2 open questions; select one with --request\n${first}: Write first.txt; ${second}: Write second.txt\nsee: board agents view ${id}\n`,
    })
    expect((await cli.board(['agents', 'view', id])).stdout).not.toContain('undefined')
    await cli.ok(['agents', 'approve', id, '--request', second])
    expect((await cli.board(['agents', 'approve', id, '--request', second])).code).toBe(5)
    expect(
      (await board.client.agents.get({ projectId: board.projectId, cardId: id })).questions.map(({ title }) => title),
    ).toEqual(['Write first.txt'])
    const last = await cli.board(['agents', 'approve', id, '--reject'])
    expect(last.code).toBe(0)
    await board.untilStatus(id, 'completed')
  })

  test('approve allows the requested action, and --reject refuses it and sends the reason', async () => {
    const { id } = await board.start('planning', { useWorktree: false })
    await board.untilStatus(id, 'waiting')
    await cli.ok(['agents', 'approve', id, '--reject', '--feedback', 'Test first.'])
    await eventually('the feedback', async () =>
      (await board.messages(id)).some(({ content }) => content.includes('Test first.')),
    )
    await board.untilStatus(id, 'waiting')
    await cli.ok(['agents', 'approve', id])
    await board.untilStatus(id, 'completed')
    const { code, stderr } = await cli.board(['agents', 'approve', id])
    expect({ code, said: stderr.includes('no open question') }).toEqual({ code: 5, said: true })
  })
})
