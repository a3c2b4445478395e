import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRepository } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/trees.ts'
import { boardProcess, clearAway, type BoardProcess } from '../support/processes/boardProcess.ts'

const programs = resolve('test/agent-qwen/node_modules/.bin')
const isInstalled = existsSync(join(programs, 'qwen'))
if (!isInstalled)
  process.stderr.write(
    '\nLEFT OUT: the tests with a real agent. To run them: npm install --prefix test/agent-qwen --ignore-scripts --no-save\n\n',
  )

const key = 'sk-of-the-account-0123456789'
const otherKey = 'sk-of-a-credential-0123456789'
/** What Qwen Code is told so that it talks to nobody but its model. */
const settings = {
  security: { auth: { selectedType: 'openai' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}

describe.skipIf(!isInstalled)('Qwen Code on a card', () => {
  const root = mkdtempSync(join(tmpdir(), 'board-qwen-'))
  const dataDir = join(root, 'data')
  const path = join(root, 'repository')
  let model: ChildProcess
  let modelUrl: string
  let board: BoardProcess
  let projectId: string
  let columns: { backlog: string; active: string; done: string }

  beforeAll(async () => {
    model = spawn(process.execPath, [resolve('test/fixtures/model.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
    modelUrl = String((await once(model.stdout!, 'data'))[0]).trim()
    const home = join(root, 'home')
    writeSettings(home)
    const proxied = Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map(name => [name, modelUrl]))
    board = boardProcess(dataDir, {
      PATH: [programs, dirname(process.execPath), process.env.PATH].join(delimiter),
      HOME: home,
      ...proxied,
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: 'scripted',
    })
    await board.start()
    projectId = (await board.client.projects.create({ name: 'Real', path: makeRepository(path) })).id
    const [backlog, active, done] = (await board.client.columns.list({ projectId })).map(({ id }) => id) as [
      string,
      string,
      string,
    ]
    columns = { backlog, active, done }
  })
  afterAll(async () => {
    await clearAway(board, root)
    model.kill()
  })

  const create = (title: string, prompt: string[], more = {}) =>
    board.client.cards.create({
      projectId,
      title,
      prompt: prompt.join('\n'),
      columnId: columns.backlog,
      agent: 'qwen',
      ...more,
    })
  const card = (cardId: string) => board.client.cards.get({ projectId, cardId })
  const start = (cardId: string) => board.client.cards.move({ projectId, cardId, columnId: columns.active })
  const untilStatus = (cardId: string, status: string) =>
    eventually(`the status ${status} of ${cardId}`, async () => {
      const found = await card(cardId)
      if (found.status === 'failed' && status !== 'failed')
        throw new Error(`The agent failed: ${JSON.stringify(found.lastAgentAction)}`)
      return found.status === status ? found : undefined
    })
  /** Says yes to all that the agent asks, until it ends. Returns what it asked. */
  const approveAll = async (cardId: string) => {
    const questions: Array<string | null | undefined> = []
    for (;;) {
      const { status, lastAgentAction } = await eventually('a question, or the end', async () => {
        const now = await card(cardId)
        return now.hasActiveAgent && now.status !== 'waiting' ? undefined : now
      })
      if (status !== 'waiting') return questions
      questions.push(lastAgentAction?.detail)
      await board.client.agents.approvePlan({ projectId, cardId, approved: true })
    }
  }
  const messages = (cardId: string) => board.client.agents.messages({ projectId, cardId })
  const worktree = (cardId: string) => join(dataDir, 'worktrees', projectId, cardId)
  const seen = async (): Promise<Seen> => (await fetch(`${modelUrl}/seen`)).json() as Promise<Seen>
  /** What runs of the agents, their tools too: every one of them knows the data folder. */
  const untilNoneRuns = () =>
    eventually('the end of every process', () => processesWith(dataDir).every(pid => pid === board.pid), 10_000)

  test("it writes a file in the worktree and not in the project's folder, and auto mode completes the card", async () => {
    const { id } = await create(
      'Write hello',
      [
        'call write_file {"file_path": "{cwd}/hello.txt", "content": "hello from a real agent\\n"}',
        'say I wrote hello.txt.',
      ],
      { autoMode: true },
    )
    await start(id)
    const done = await eventually('the done column', async () => {
      const found = await card(id)
      return found.columnId === columns.done ? found : undefined
    })
    expect(done).toMatchObject({
      status: 'completed',
      statusReason: null,
      unread: true,
      hasActiveAgent: false,
      columnType: 'done',
      gitBranch: `board/${id}-write-hello`,
    })
    expect(readFileSync(join(worktree(id), 'hello.txt'), 'utf8')).toBe('hello from a real agent\n')
    expect(existsSync(join(path, 'hello.txt'))).toBe(false)
    const { diff, stats } = await board.client.agents.diff({ projectId, cardId: id })
    expect(diff).toContain('+hello from a real agent')
    expect(stats).toEqual({ filesChanged: 1, insertions: 1, deletions: 0 })
    expect(await board.client.agents.get({ projectId, cardId: id })).toMatchObject({
      agent: 'qwen',
      status: 'completed',
      summary: 'I wrote hello.txt.',
      usage: { inputTokens: 2000, outputTokens: 40 },
    })
    const told = await messages(id)
    expect(told.find(({ role }) => role === 'tool')?.tool).toMatchObject({ kind: 'edit', status: 'completed' })
    expect(told.filter(({ role }) => role === 'agent').at(-1)?.content).toBe('I wrote hello.txt.')
    await untilNoneRuns()
  })

  test("it has the board's tools, and asks before it runs a command", async () => {
    const { id } = await create('Commit', [
      'call write_file {"file_path": "{cwd}/kept.txt", "content": "kept\\n"}',
      'call mcp__board__report_progress {"detail": "I commit kept.txt."}',
      'call run_shell_command {"command": "git add kept.txt && git commit -m Keep", "description": "Commit", "is_background": false}',
      'say I committed kept.txt.',
    ])
    await start(id)
    const questions = await approveAll(id)
    expect(questions).toEqual([expect.stringContaining('git commit')])
    expect(await card(id)).toMatchObject({ status: 'completed', columnId: columns.active })
    const calls = (await messages(id)).filter(({ role }) => role === 'tool')
    expect(calls.map(({ content }) => content)).toEqual([
      expect.anything(),
      expect.stringContaining('"type":"progress"'),
      expect.stringContaining('Keep'),
    ])
    expect(calls.map(({ tool }) => tool!.name)).toEqual([
      expect.stringContaining('kept.txt'),
      expect.stringContaining('report_progress'),
      expect.stringContaining('git commit'),
    ])
    expect(execFileSync('git', ['-C', worktree(id), 'log', '-1', '--format=%s by %an'], { encoding: 'utf8' })).toBe(
      'Keep by Qwen Code\n',
    )
    expect(execFileSync('git', ['-C', path, 'log', '-1', '--format=%s'], { encoding: 'utf8' })).toBe('Begin\n')
    await untilNoneRuns()
  })

  test('it asks before it has the board run a command again and again', async () => {
    const { id } = await create('Watch', [
      'call mcp__board__add_monitor {"command": "true", "intervalSecs": 60, "allowUnsandboxed": true}',
      'say I watch.',
    ])
    await start(id)
    const { lastAgentAction } = await untilStatus(id, 'waiting')
    expect(lastAgentAction!.detail).toContain('add_monitor')
    expect(await board.client.monitors.listProject({ projectId })).toEqual([])
    await board.client.agents.approvePlan({ projectId, cardId: id, approved: false })
    await eventually('the end', async () => !(await card(id)).hasActiveAgent)
    expect(await board.client.monitors.listProject({ projectId })).toEqual([])
    await untilNoneRuns()
  })

  test('it goes on with its session after the server was killed in the middle of it', async () => {
    const { id } = await create('Go on', [
      'call run_shell_command {"command": "date > date.txt", "description": "Note the date", "is_background": false}',
      'say That was the first part.',
    ])
    await start(id)
    await untilStatus(id, 'waiting')
    await board.end('SIGKILL')
    await board.start()
    await untilNoneRuns()
    expect(await card(id)).toMatchObject({
      status: 'interrupted',
      statusReason: 'server_restart',
      hasActiveAgent: false,
    })
    await board.client.agents.send({
      projectId,
      cardId: id,
      content:
        'call write_file {"file_path": "{cwd}/second.txt", "content": "second\\n"}\nsay That was the second part.',
    })
    await untilStatus(id, 'completed')
    expect(readFileSync(join(worktree(id), 'second.txt'), 'utf8')).toBe('second\n')
    expect((await card(id)).sessions).toMatchObject([
      { agent: 'qwen', status: 'completed', summary: 'That was the second part.' },
    ])
    const { messages: told } = (await seen()).requests.at(-1)!
    expect(JSON.stringify(told)).toContain('Note the date')
    await untilNoneRuns()
  })

  test("a credential of the board's reaches it, with a home of its own", async () => {
    const { id: credentialId } = await board.client.credentials.create({
      name: 'Model',
      provider: 'custom',
      apiKey: otherKey,
      baseUrl: `${modelUrl}/v1`,
    })
    const { id } = await create('With a credential', [
      'call write_file {"file_path": "{cwd}/mine.txt", "content": "mine\\n"}',
      'say I wrote mine.txt.',
    ])
    await board.client.credentials.chooseForCard({ projectId, cardId: id, credentialId })
    await start(id)
    await untilStatus(id, 'completed')
    expect(readFileSync(join(worktree(id), 'mine.txt'), 'utf8')).toBe('mine\n')
    expect((await seen()).requests.at(-1)).toMatchObject({ authorization: `Bearer ${otherKey}`, model: 'scripted' })
    expect(await board.client.credentials.usage({ id: credentialId })).toMatchObject({
      sessions: 1,
      inputTokens: 2000,
      outputTokens: 40,
    })
    await untilNoneRuns()
  })

  test('it talked to nobody but its model and the board', async () => {
    const { requests, refused } = await seen()
    expect(refused).toEqual([])
    expect(
      requests.filter(
        ({ method, path: asked, model: wanted, authorization }) =>
          `${method} ${asked} ${wanted}` !== 'POST /v1/chat/completions scripted' ||
          ![`Bearer ${key}`, `Bearer ${otherKey}`].includes(authorization!),
      ),
    ).toEqual([])
  })
})

interface Seen {
  requests: Array<{
    method: string
    path: string
    authorization: string | null
    model: string | null
    tools: string[]
    messages: unknown[]
  }>
  refused: string[]
}

function writeSettings(home: string): void {
  mkdirSync(join(home, '.qwen'), { recursive: true, mode: 0o700 })
  writeFileSync(join(home, '.qwen', 'settings.json'), JSON.stringify(settings))
}
