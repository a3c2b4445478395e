import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addMessage, type TranscriptSession } from '../../src/agents/transcript/transcriptWriter.ts'
import {
  addSessionTokens,
  updateSession,
  writeAnnouncedCommands,
  type SessionChange,
} from '../../src/store/agents/sessions.ts'
import { updateCard } from '../../src/store/cards/cards.ts'
import { newCard, newSession, type TestCard } from '../support/agents/agentRows.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard()
})
afterAll(() => board.close())

const get = (path: string, token?: string) => board.request('GET', path, token === undefined ? {} : { token })
const pathOf = ({ projectId, cardId }: TestCard, rest: string) => `/api/projects/${projectId}/cards/${cardId}/${rest}`
const read = async (card: TestCard, rest: string) => (await get(pathOf(card, rest))).body.data
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const change = ({ id }: TranscriptSession, to: SessionChange) =>
  board.server.app.db.transaction(tx => updateSession(tx, id, to))
const startedAt = '2026-05-01T12:00:00.000Z'
const endedAt = '2026-05-01T12:10:00.000Z'

describe('a card that never ran', () => {
  it('is idle, without sessions, messages and changes', async () => {
    const card = await newCard(board)
    expect(await read(card, 'agent')).toEqual({
      sessionId: null,
      cardId: card.cardId,
      agent: null,
      status: 'idle',
      statusReason: null,
      waitingFor: null,
      startedAt: null,
      endedAt: null,
      profile: null,
      model: null,
      mode: null,
      effort: null,
      limitEndsAt: null,
      notBefore: null,
      silentSince: null,
      retrying: null,
      usage: null,
      summary: null,
      baseCommit: null,
      branch: null,
      sandbox: null,
      questions: [],
    })
    for (const list of ['agent/sessions', 'agent/history', 'agent/messages']) expect(await read(card, list)).toEqual([])
    expect((await board.client.cards.get(card)).sessions).toEqual([])
    expect(codeOf(await get(pathOf(card, 'diff')))).toEqual([409, 'NOT_A_GIT_REPOSITORY'])
    execFileSync('git', ['init', '-q', card.path])
    expect(codeOf(await get(pathOf(card, 'diff')))).toEqual([409, 'CONFLICT'])
    await board.client.projects.update({ id: card.projectId, path: card.path })
    expect(await read(card, 'diff')).toEqual({
      diff: '',
      stats: { filesChanged: 0, insertions: 0, deletions: 0 },
      truncated: false,
      snapshot: null,
    })
  })
})

describe('sessions', () => {
  it("are listed oldest first, the newest is the card's agent, and pre-sessions are not included", async () => {
    const card = await newCard(board)
    const first = await newSession(board, card)
    await change(first, {
      status: 'failed',
      statusReason: 'usage_limit',
      startedAt,
      endedAt,
      summary: 'Half done',
      model: 'm1',
      baseCommit: 'a'.repeat(40),
      branch: 'board/1-a-card',
      sandbox: null,
      filesChanged: 3,
      contextUsed: 50,
      contextSize: 100,
      costUsd: 0.5,
    })
    await board.server.app.db.transaction(async tx => {
      await addSessionTokens(tx, first.id, { inputTokens: 1000, outputTokens: 20 })
      await addSessionTokens(tx, first.id, { inputTokens: 1, outputTokens: 2 })
      await addMessage(tx, first, 'user', 'Do it')
    })
    const second = await newSession(board, card, { agent: 'other' })
    await newSession(board, card, { purpose: 'pre' })
    const shown = {
      sessionId: String(first.id),
      cardId: card.cardId,
      agent: 'fixture',
      status: 'failed',
      statusReason: 'usage_limit',
      waitingFor: null,
      startedAt,
      endedAt,
      profile: null,
      model: 'm1',
      mode: null,
      effort: null,
      limitEndsAt: null,
      notBefore: null,
      silentSince: null,
      retrying: null,
      summary: 'Half done',
      baseCommit: 'a'.repeat(40),
      branch: 'board/1-a-card',
      sandbox: null,
      usage: { inputTokens: 1001, outputTokens: 22, exact: true, contextUsed: 50, contextSize: 100, costUsd: 0.5 },
    }
    const sessions = await read(card, 'agent/sessions')
    expect(sessions).toEqual([
      shown,
      expect.objectContaining({ sessionId: String(second.id), agent: 'other', usage: null }),
    ])
    expect(await read(card, 'agent')).toEqual({ ...sessions[1], questions: [] })
    expect((await read(card, 'agent/history'))[0]).toEqual({
      sessionId: String(first.id),
      agent: 'fixture',
      status: 'failed',
      statusReason: 'usage_limit',
      startedAt,
      endedAt,
      summary: 'Half done',
      messages: 1,
      toolCalls: 0,
      filesChanged: 3,
    })
    expect(await read(card, 'agent/history')).toHaveLength(2)
  })

  it("and the active agent are in the card's detail, also for API keys, but not in card lists", async () => {
    const card = await newCard(board)
    const [first, second] = [await newSession(board, card), await newSession(board, card, { agent: 'other' })]
    await change(first, { status: 'completed', startedAt, endedAt, summary: 'Done' })
    await change(second, { startedAt: endedAt })
    await board.server.app.db.transaction(tx =>
      updateCard(tx, Number(card.cardId), { status: 'running', startedAt: endedAt }),
    )
    const sessions = [
      { id: String(first.id), agent: 'fixture', status: 'completed', startedAt, endedAt, summary: 'Done' },
      { id: String(second.id), agent: 'other', status: 'running', startedAt: endedAt, endedAt: null, summary: null },
    ]
    const locks = [{ kind: 'agent', holder: 'other', acquiredAt: endedAt }]
    expect(await board.client.cards.get(card)).toMatchObject({
      status: 'running',
      hasActiveAgent: true,
      sessions,
      locks,
    })
    expect(await board.client.cards.getFlat({ id: card.cardId })).toMatchObject({ sessions, locks })
    const { key } = await board.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    const external = await get(`/api/external/projects/${card.projectId}/cards/${card.cardId}`, key)
    expect(external.body.data).toMatchObject({
      locks,
      sessions: sessions.map(session => ({ ...session, id: Number(session.id) })),
    })
    expect(JSON.stringify(await board.client.cards.list({ projectId: card.projectId }))).not.toMatch(/sessions|locks/)
  })

  it("count in the project's statistics, also after their card is deleted", async () => {
    const card = await newCard(board)
    const stats = async () => (await board.client.projects.stats({ id: card.projectId })).tokens
    expect(await stats()).toEqual({ total: 0, sessions: 0 })
    const [first, second] = [await newSession(board, card), await newSession(board, card, { purpose: 'pre' })]
    await board.server.app.db.transaction(async tx => {
      await addSessionTokens(tx, first.id, { inputTokens: 100, outputTokens: 10 })
      await addSessionTokens(tx, second.id, { inputTokens: 5, outputTokens: 1 })
      await addSessionTokens(tx, first.id, { inputTokens: 100, outputTokens: 10 })
    })
    expect(await stats()).toEqual({ total: 226, sessions: 2 })
    await board.server.app.db.transaction(tx => tx.run('DELETE FROM cards WHERE id = ?', [Number(card.cardId)]))
    expect(await stats()).toEqual({ total: 226, sessions: 2 })
    const { key } = await board.client.keys.create({ name: 'k', scope: 'server', permissions: ['cards.read'] })
    expect((await get(`/api/external/projects/${card.projectId}/stats`, key)).body.data.tokens).toEqual({
      total: 226,
      sessions: 2,
    })
  })

  it('are counted by agent and by the day of their start, with the known costs', async () => {
    const card = await newCard(board)
    const [told, silent, other] = [
      await newSession(board, card),
      await newSession(board, card),
      await newSession(board, card, { agent: 'other' }),
    ]
    await newSession(board, card)
    for (const session of [told, silent]) await change(session, { startedAt: '2026-02-01T23:59:59.000Z' })
    await change(other, { startedAt: '2026-02-02T00:00:00.000Z' })
    await board.server.app.db.transaction(async tx => {
      await addSessionTokens(tx, told.id, { inputTokens: 100, outputTokens: 10 })
      await addSessionTokens(tx, silent.id, { inputTokens: 1, outputTokens: 2 })
      await tx.run('UPDATE agent_sessions SET cost_usd = 0.5 WHERE id = ?', [told.id])
    })
    const usage = (since: string) => board.client.projects.usage({ id: card.projectId, since })
    const later = { day: '2026-02-02', agent: 'other', sessions: 1, inputTokens: 0, outputTokens: 0, costUsd: null }
    expect(await usage('2026-02-01')).toEqual([
      { day: '2026-02-01', agent: 'fixture', sessions: 2, inputTokens: 101, outputTokens: 12, costUsd: 0.5 },
      later,
    ])
    expect(await usage('2026-02-02')).toEqual([later])
    await board.server.app.db.transaction(async tx => {
      // The cost of another agent's session is reported later, and then a second time.
      for (const cost of [0.25, 0.75])
        await tx.run('UPDATE agent_sessions SET cost_usd = ? WHERE id = ?', [cost, other.id])
      await tx.run('DELETE FROM cards WHERE id = ?', [Number(card.cardId)])
    })
    expect(await usage('2026-02-02')).toEqual([{ ...later, costUsd: 0.75 }])
  })

  it("that are open are the project's active agents", async () => {
    const card = await newCard(board, 'Busy')
    const [ended, running] = [await newSession(board, card), await newSession(board, card, { agent: 'other' })]
    await change(ended, { status: 'completed', startedAt, endedAt })
    await change(running, { status: 'waiting', startedAt })
    expect((await get(`/api/projects/${card.projectId}/active-agents`)).body.data).toEqual([
      { cardId: card.cardId, cardTitle: 'Busy', status: 'waiting', agent: 'other', startedAt },
    ])
  })
})

describe('messages', () => {
  it('are those of the card or of one session, from or before a time, up to the limit', async () => {
    const card = await newCard(board)
    const sessions = [await newSession(board, card), await newSession(board, card)]
    const { db } = board.server.app
    for (const [at, text] of ['1', '2', '3', '4'].entries())
      await db.transaction(tx => addMessage(tx, sessions[at % 2]!, 'user', text))
    await db.transaction(async tx => addMessage(tx, await newPre(), 'user', 'pre'))
    async function newPre() {
      return { ...sessions[0]!, purpose: 'pre' as const }
    }
    const list = async (query = '') =>
      (await read(card, `agent/messages${query}`)).map(({ content }: { content: string }) => content).join('')
    const all = await read(card, 'agent/messages')
    expect(all[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      sessionId: String(sessions[0]!.id),
      role: 'user',
      content: '1',
      tool: null,
      attachments: [],
      at: expect.stringMatching(/Z$/),
    })
    expect([
      await list(),
      await list(`?sessionId=${sessions[1]!.id}`),
      await list('?limit=2'),
      await list(`?since=${all[1].id}`),
      await list(`?before=${all[1].id}`),
      await list(`?since=${all[0].id}&limit=1`),
    ]).toEqual(['1234', '24', '34', '34', '1', '2'])
    expect([
      await list('?since=0'),
      await list('?since=2020-01-01T00:00:00.000Z&limit=3'),
      await list('?since=2999-01-01T00:00:00Z'),
      await list('?limit=100000'),
    ]).toEqual(['1234', '123', '', '1234'])
    for (const query of ['limit=0', 'limit=x', 'since=yesterday', 'before=-1', 'sessionId=x', 'nonsense=1'])
      expect([query, ...codeOf(await get(pathOf(card, `agent/messages?${query}`)))]).toEqual([
        query,
        400,
        'VALIDATION_FAILED',
      ])
    const other = await newSession(board, await newCard(board))
    for (const id of [other.id, 999_999])
      expect(codeOf(await get(pathOf(card, `agent/messages?sessionId=${id}`)))).toEqual([404, 'SESSION_NOT_FOUND'])
  })
})

describe('access', () => {
  it('is limited to the project: a stranger and a card of another project find nothing', async () => {
    const [card, other] = [await newCard(board), await newCard(board)]
    for (const rest of ['agent', 'agent/sessions', 'agent/history', 'agent/messages', 'diff'])
      expect([rest, ...codeOf(await get(pathOf({ projectId: card.projectId, cardId: other.cardId }, rest)))]).toEqual([
        rest,
        404,
        'CARD_NOT_FOUND',
      ])
    const { key } = await board.client.keys.create({
      name: 'k',
      scope: 'project',
      projectId: other.projectId,
      permissions: ['agents.read'],
    })
    for (const path of [
      pathOf(card, 'agent'),
      `/api/projects/${card.projectId}/active-agents`,
      `/api/projects/${card.projectId}/slash-commands`,
    ])
      expect(codeOf(await get(path, key))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect((await get(pathOf(other, 'agent'), key)).status).toBe(200)
  })
})

describe('providers', () => {
  it('are listed with their installation command and availability, and a broken configuration is reported', async () => {
    const dataDir = board.folder('plain')
    writeFileSync(join(dataDir, 'config.json'), '{}')
    const plain = await startBoard({ dataDir })
    const providers = await plain.client.agents.providers()
    await plain.close()
    expect(providers).toContainEqual({
      id: 'qwen',
      name: 'Qwen Code',
      protocol: 'acp',
      command: ['qwen', '--acp'],
      installed: expect.any(Boolean),
      install: expect.stringContaining('@qwen-code/qwen-code'),
      credentialProviders: ['openai', 'openrouter', 'custom'],
      path: expect.toBeOneOf([null, expect.any(String)]),
      tried: '0.15.10',
      version: null,
      signedIn: null,
      models: [],
      modes: [],
      efforts: [],
      seenAt: null,
      check: null,
    })
    const configured = await startBoard()
    const config = join(configured.dataDir, 'config.json')
    writeFileSync(
      config,
      JSON.stringify({
        agents: { mine: { name: 'Mine', command: [process.execPath, 'mine.mjs'], env: { MINE_SECRET: 'hush' } } },
      }),
    )
    const reply = await configured.request('GET', '/api/agents')
    expect(reply.body.data.at(-1)).toEqual({
      id: 'mine',
      name: 'Mine',
      protocol: 'acp',
      command: [process.execPath, 'mine.mjs'],
      installed: true,
      install: null,
      credentialProviders: [],
      path: process.execPath,
      tried: null,
      version: null,
      signedIn: null,
      models: [],
      modes: [],
      efforts: [],
      seenAt: null,
      check: null,
    })
    expect(reply.text).not.toContain('hush')
    await configured.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
    const { token } = await configured.client.auth.register({ email: 'bob@example.org', password: 'battery staple' })
    const seenByUser = await configured.request('GET', '/api/agents', { token })
    expect(seenByUser.body.data.at(-1)).toMatchObject({ id: 'mine', name: 'Mine', installed: true, command: null })
    expect(seenByUser.text).not.toContain('mine.mjs')
    await configured.close()
    const broken = await startBoard()
    writeFileSync(join(broken.dataDir, 'config.json'), '{')
    const refused = await broken.request('GET', '/api/agents')
    expect(codeOf(refused)).toEqual([503, 'AGENT_UNAVAILABLE'])
    expect(refused.body.error.message).toContain('config.json')
    expect(refused.text).not.toContain(broken.dataDir)
    await broken.close()
  })
})

describe('slash commands', () => {
  it("are those that agents announced and those in the project's files, by name", async () => {
    const card = await newCard(board)
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(card.path, path)), { recursive: true })
      writeFileSync(join(card.path, path), text)
    }
    write(
      '.claude/commands/review.md',
      '---\ndescription: "Review the change"\nallowed-tools: Read\n---\nLook at it.\n',
    )
    write('.claude/commands/front/component.md', '\n# Make a component\nBody\n')
    write('.claude/commands/matter.md', '---\nmodel: x\n---\n\nAfter the matter\n')
    write('.codex/prompts/explain.md', 'Explain it')
    write('.gemini/commands/git/commit.toml', 'prompt = """\nwrite\n"""\ndescription = \'Commit it\'\n')
    write('.opencode/command/nested/do.md', 'Do it')
    write('.claude/commands/notes.txt', 'not a command')
    write('outside/secret.md', 'secret')
    symlinkSync(join(card.path, 'outside/secret.md'), join(card.path, '.claude/commands/link.md'))
    symlinkSync(join(card.path, 'outside'), join(card.path, '.claude/commands/folder'))
    mkdirSync(join(card.path, '.qwen'))
    symlinkSync('/etc', join(card.path, '.qwen/commands'))
    execFileSync('mkfifo', [join(card.path, '.claude/commands/pipe.md')])
    await board.server.app.db.transaction(async tx => {
      await writeAnnouncedCommands(
        tx,
        Number(card.projectId),
        'b',
        JSON.stringify([
          { name: 'review', description: 'Announced' },
          { name: 'compact', description: '' },
        ]),
      )
      await writeAnnouncedCommands(
        tx,
        Number(card.projectId),
        'b',
        JSON.stringify([{ name: 'review', description: 'Announced again' }]),
      )
    })
    expect((await get(`/api/projects/${card.projectId}/slash-commands`)).body.data).toEqual([
      { name: 'explain', description: 'Explain it', agents: [] },
      { name: 'front:component', description: 'Make a component', agents: [] },
      { name: 'git:commit', description: 'Commit it', agents: [] },
      { name: 'matter', description: 'After the matter', agents: [] },
      { name: 'nested/do', description: 'Do it', agents: [] },
      { name: 'review', description: 'Announced again', agents: ['b'] },
    ])
  })

  it('are limited, regardless of the number of files', async () => {
    const card = await newCard(board)
    mkdirSync(join(card.path, '.claude/commands'), { recursive: true })
    for (let at = 0; at < 700; at++) writeFileSync(join(card.path, '.claude/commands', `c${at}.md`), 'x'.repeat(20_000))
    const commands = (await get(`/api/projects/${card.projectId}/slash-commands`)).body.data
    expect(commands).toHaveLength(500)
    expect(commands[0].description).toHaveLength(500)
  })
})
