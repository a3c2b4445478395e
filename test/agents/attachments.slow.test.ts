import { createHash } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine } from '../support/commands/commandLine.ts'
import { eventually } from '../support/waiting/eventually.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

let board: AgentBoard
beforeAll(async () => {
  board = await startAgentBoard({
    sees: { fixture: 'blocks', env: { FIXTURE_TAKES: 'image,embeddedContext' } },
    plain: { fixture: 'blocks' },
    cat: { protocol: 'command', command: ['cat'] },
    fails: { fixture: 'crash-in-turn' },
  })
})
afterAll(() => board.close())

const ref = (cardId: string) => ({ projectId: board.projectId, cardId })
const attach = async (cardId: string, name: string, content: string | Buffer): Promise<string> => {
  const body = new FormData()
  body.append('file', new Blob([content]), name)
  const answer = await fetch(`${board.url}/api/projects/${board.projectId}/cards/${cardId}/attachments`, {
    method: 'POST',
    headers: { authorization: `Bearer ${board.token}` },
    body,
  })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { data: { id: string } }).data.id
}
interface Block {
  type: string
  text?: string
  name?: string
  mimeType?: string
  data?: string
  path?: string
  file?: string
  resource?: { text: string; uri: string }
}
/** The blocks of every turn of a card's agent, oldest first. */
const turnsOf = async (cardId: string): Promise<Block[][]> =>
  (await board.messages(cardId)).filter(({ role }) => role === 'agent').map(({ content }) => JSON.parse(content))
const untilTurns = (cardId: string, count: number) =>
  eventually(`${count} turns of card ${cardId}`, async () => {
    const turns = await turnsOf(cardId)
    return turns.length >= count ? turns : undefined
  })
/** A card whose agent is still in its first turn. */
const held = async (agent: string) => {
  const card = await board.start(agent, { prompt: 'Hold on.' })
  await untilTurns(card.id, 1)
  const { cwd } = (await board.server.app.db.get<{ cwd: string }>('SELECT cwd FROM agent_sessions WHERE card_id = ?', [
    Number(card.id),
  ])) ?? { cwd: '' }
  return { id: card.id, release: () => writeFileSync(join(cwd, 'go'), '') }
}
const codeOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'sent',
    (error: { code: string }) => error.code,
  )
/** The folders with copies that agents read. */
const copies = () =>
  readdirSync(join(board.dataDir, 'agents', 'none', 'tmp')).filter(name => name.startsWith('board-attachments-'))

describe('an attachment of a message', () => {
  test('is sent to an agent that accepts images and text: an image unchanged, a text as text, and others as a link', async () => {
    const { id, release } = await held('sees')
    const ids = [
      await attach(id, 'screen.png', png),
      await attach(id, 'notes.md', '# Größe\n'),
      await attach(id, 'data.bin', Buffer.from([0, 1, 2, 255])),
    ]
    const sent = await board.client.agents.send({ ...ref(id), content: 'Look at these.', attachmentIds: ids })
    expect(sent.attachments).toEqual([
      { id: ids[0], filename: 'screen.png' },
      { id: ids[1], filename: 'notes.md' },
      { id: ids[2], filename: 'data.bin' },
    ])
    release()
    const [, blocks] = await untilTurns(id, 2)
    expect(blocks![0]).toEqual({ type: 'text', text: 'Look at these.' })
    expect(blocks![1]).toEqual({ type: 'image', mimeType: 'image/png', data: hashOf(png) })
    expect(blocks![2]).toMatchObject({ type: 'resource', resource: { text: '# Größe\n' } })
    expect(blocks![3]).toMatchObject({ type: 'resource_link', name: 'data.bin', file: '\0\u0001\u0002ÿ' })
    await board.untilStatus(id, 'completed')
    await eventually('the end of the copies', () => copies().length === 0)
    expect(existsSync(blocks![3]!.path!)).toBe(false)
    const messages = await board.client.agents.messages(ref(id))
    expect(messages.find(({ content }) => content === 'Look at these.')!.attachments).toEqual(sent.attachments)
    expect(messages.find(({ content }) => content === 'Hold on.')!.attachments).toEqual([])
  })

  test("is a link to a file in the session's folder for an agent that accepts neither, and a path for a plain command", async () => {
    const { id, release } = await held('plain')
    const shot = await attach(id, 'screen.png', png)
    await board.client.agents.send({ ...ref(id), content: 'Look.', attachmentIds: [shot] })
    release()
    const [, blocks] = await untilTurns(id, 2)
    expect(blocks).toMatchObject([
      { type: 'text', text: 'Look.' },
      { type: 'resource_link', name: 'screen.png' },
    ])
    expect(Buffer.from(blocks![1]!.file!, 'latin1')).toEqual(png)
    expect(blocks![1]!.path!.startsWith(join(board.dataDir, 'agents', 'none', 'tmp', 'board-attachments-'))).toBe(true)

    const command = await board.start('cat', { columnId: board.columns.backlog })
    const note = await attach(command.id, 'note.txt', 'Noted.')
    await board.client.agents.send({ ...ref(command.id), content: 'Read it.', attachmentIds: [note] })
    await board.untilStatus(command.id, 'completed')
    const told = (await board.messages(command.id)).find(({ role }) => role === 'agent')!.content
    expect(told).toMatch(/Read it\.\n\nAttached files:\n\/\S+\/board-attachments-\w+\/prompt-\w+\/\d+-note\.txt$/)
  })

  test('that is larger than an agent accepts is sent as a link', async () => {
    const { id, release } = await held('sees')
    const large = await attach(id, 'large.png', Buffer.concat([png, Buffer.alloc(5 * 1024 * 1024)]))
    const long = await attach(id, 'long.txt', 'x'.repeat(256 * 1024 + 1))
    await board.client.agents.send({ ...ref(id), content: 'Look.', attachmentIds: [large, long] })
    release()
    const [, blocks] = await untilTurns(id, 2)
    expect(blocks!.map(({ type }) => type)).toEqual(['text', 'resource_link', 'resource_link'])
    await board.untilStatus(id, 'completed')
  })

  test('has a safe file name, regardless of the sent name', async () => {
    const { id, release } = await held('plain')
    const names = ['../../../evil.sh', '-rf', '.bashrc', 'a\nb; rm -rf $HOME.png', '🦊'.repeat(63) + '.txt', '..']
    const ids = []
    for (const name of names) ids.push(await attach(id, name, name))
    await board.client.agents.send({ ...ref(id), content: 'Look.', attachmentIds: ids })
    release()
    const [, blocks] = await untilTurns(id, 2)
    const folder = join(board.dataDir, 'agents', 'none', 'tmp')
    for (const [at, { path, file }] of blocks!.slice(1).entries()) {
      expect(path!.slice(folder.length + 1)).toMatch(/^board-attachments-\w+\/prompt-\w+\/\d+[-.][^/\n]+$/)
      expect(Buffer.from(file!, 'latin1').toString()).toBe(names[at])
    }
    expect(blocks).toHaveLength(names.length + 1)
    await board.untilStatus(id, 'completed')
  })

  test('must be of the card: an invalid or too large set of attachments sends nothing', async () => {
    const [one, other] = [await board.start('plain', { columnId: board.columns.backlog }), await held('plain')]
    const foreign = await attach(other.id, 'foreign.txt', 'x')
    const send = (attachmentIds: string[]) =>
      codeOf(board.client.agents.send({ ...ref(one.id), content: 'Look.', attachmentIds }))
    expect(await send([foreign])).toBe('ATTACHMENT_NOT_FOUND')
    expect(await send(['999999'])).toBe('ATTACHMENT_NOT_FOUND')
    expect(await send(Array.from({ length: 21 }, () => foreign))).toBe('VALIDATION_FAILED')
    expect(await board.messages(one.id)).toEqual([])
    expect((await board.card(one.id)).sessions).toEqual([])
    const assistant = await codeOf(
      board.client.assistant.send({ projectId: board.projectId, content: 'Look.', attachmentIds: ['999999'] }),
    )
    expect(assistant).toBe('ATTACHMENT_NOT_FOUND')
    other.release()
  })

  test('is missing if it was deleted before the turn, and the agent is notified', async () => {
    const { id, release } = await held('plain')
    const [gone, kept] = [await attach(id, 'gone.txt', 'gone'), await attach(id, 'kept.txt', 'kept')]
    await board.client.agents.send({ ...ref(id), content: 'Look.', attachmentIds: [gone, kept] })
    await board.client.attachments.delete({ attachmentId: gone })
    release()
    const [, blocks] = await untilTurns(id, 2)
    expect(blocks).toMatchObject([
      { type: 'text', text: 'Look.\n\nThe attachment gone.txt was deleted before this was sent to you.' },
      { type: 'resource_link', name: 'kept.txt' },
    ])
    const said = (await board.client.agents.messages(ref(id))).find(({ content }) => content === 'Look.')
    expect(said!.attachments.map(({ filename }) => filename)).toEqual(['gone.txt', 'kept.txt'])
    await board.untilStatus(id, 'completed')
  })
})

test("a card's own attachments are listed to an agent that starts on it, and to the one that takes over", async () => {
  const card = await board.start('sees', { columnId: board.columns.backlog, prompt: 'Fix what the picture shows.' })
  const shot = await attach(card.id, 'screen.png', png)
  await board.client.cards.move({ ...ref(card.id), columnId: board.columns.active, position: 0 })
  const [blocks] = await untilTurns(card.id, 1)
  expect(blocks).toMatchObject([
    { type: 'text', text: 'Fix what the picture shows.' },
    { type: 'resource_link', name: 'screen.png', mimeType: 'image/png' },
  ])
  expect(Buffer.from(blocks![1]!.file!, 'latin1')).toEqual(png)
  await board.untilStatus(card.id, 'completed')
  expect((await board.client.agents.messages(ref(card.id)))[0]!.attachments).toEqual([
    { id: shot, filename: 'screen.png' },
  ])

  await board.client.agents.send({ ...ref(card.id), content: 'Look closer.', attachmentIds: [shot] })
  const [, again] = await untilTurns(card.id, 2)
  expect(again!.map(({ type }) => type)).toEqual(['text', 'image'])
  await board.untilStatus(card.id, 'completed')
})

test('a command of the agent is sent as a prompt without preceding text', async () => {
  const { id, release } = await held('plain')
  const say = (content: string) => board.client.agents.send({ ...ref(id), content })
  await say('/review src')
  release()
  await board.untilStatus(id, 'completed')
  expect((await turnsOf(id))[1]).toEqual([{ type: 'text', text: '/review src' }])
  // This agent cannot resume: the next session starts with the task.
  await say('/compact')
  await eventually('the command', async () => (await turnsOf(id)).length === 4)
  const [, , task, command] = await turnsOf(id)
  expect(task![0]!.text).toMatch(/^Hold on\./)
  expect(command).toEqual([{ type: 'text', text: '/compact' }])
})

test('a planning agent and the assistant get attachments also', async () => {
  const card = await board.start('sees', { columnId: board.columns.backlog })
  const shot = await attach(card.id, 'screen.png', png)
  const { sessionId } = await board.client.preSessions.start(ref(card.id))
  const place = { projectId: board.projectId, sessionId }
  const answers = async () =>
    (await board.client.preSessions.messages(place))
      .filter(({ role }) => role === 'agent')
      .map(({ content }) => JSON.parse(content) as Block[])
  await eventually('the first answer', async () => (await board.client.preSessions.get(place)).status === 'waiting')
  expect((await answers())[0]!.map(({ type }) => type)).toEqual(['text', 'resource_link'])
  expect(
    (await board.client.preSessions.send({ ...place, content: 'Look.', attachmentIds: [shot] })).attachments,
  ).toHaveLength(1)
  await eventually('the second answer', async () => (await answers()).length === 2)
  expect((await answers())[1]!.map(({ type }) => type)).toContain('image')
})

test('attachments of a new card on the command line are available when its agent starts', async () => {
  const cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
  writeFileSync(join(cli.home, 'shot.png'), png)
  writeFileSync(join(cli.home, 'note.txt'), 'Noted.')
  const add = ['cards', 'add', 'Fix it', '--prompt', 'As shown.', '--agent', 'plain', '-q', '--attach']
  const id = (await cli.ok([...add, 'shot.png', 'note.txt', '--run'])).trim()
  const [blocks] = await untilTurns(id, 1)
  expect(blocks).toMatchObject([
    { type: 'text', text: 'As shown.' },
    { type: 'resource_link', name: 'shot.png' },
    { type: 'resource_link', name: 'note.txt', file: 'Noted.' },
  ])
  await board.untilStatus(id, 'completed')
  const waits = (await cli.ok([...add, 'note.txt'])).trim()
  expect(await board.card(waits)).toMatchObject({ status: 'idle', deferred: true })
  expect(await board.client.attachments.list(ref(waits))).toMatchObject([{ filename: 'note.txt' }])
  const before = (await board.client.cards.list({ projectId: board.projectId })).length
  expect(await cli.board([...add, 'note.txt', 'missing.txt', '--run'])).toMatchObject({ code: 2, stdout: '' })
  expect(await board.client.cards.list({ projectId: board.projectId })).toHaveLength(before)
  cli.close()
})
