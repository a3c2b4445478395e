import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { faultsOf, importFile, minimalDocument, rowCounts, stored, underWay, type Doc } from './files.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startBoard({ maxAttachmentBytes: 2_000_000 })
})
afterAll(() => board.close())

const document = (change: Doc = {}): Doc => minimalDocument(tmpdir(), change)
const at = '2026-01-01T00:00:00.000Z'
const card = (change: Doc) => document({ cards: [{ id: 1, columnId: 1, position: 0, title: 'First', ...change }] })
const session = { id: 1, cardId: 1, purpose: 'work', agent: 'claude', status: 'completed', createdAt: at, endedAt: at }
const attachment = {
  id: 1,
  cardId: 1,
  filename: 'a.txt',
  size: 3,
  sha256: createHash('sha256').update('abc').digest('hex'),
}
const cases: Array<[string, Doc | string, string[]]> = [
  ['no JSON', 'hello', [' the file must be JSON: an object or a list']],
  ['truncated JSON', '{"format":"board","version":1,"cards":[{', [' the file ends in the middle (byte 0)']],
  [
    'JSON with trailing data',
    `${JSON.stringify(document())} {}`,
    [` the file has data after its end (byte ${JSON.stringify(document()).length})`],
  ],
  [
    'broken entries',
    JSON.stringify(document()).replace('"title":"First"', '"title":First'),
    [expect.stringMatching(/^cards\.0 is not valid JSON \(byte \d+\)$/) as never],
  ],
  ['another kind of file', { cards: [] }, ['format is required: this is not an export of a board']],
  ['a newer version', document({ version: 2 }), ['version must be 1']],
  ['an unknown part', document({ secrets: [] }), ['secrets is not a known part']],
  ['a part that is not a list', document({ cards: {} }), ['cards must be a list']],
  ['a duplicate part', `{"format":"board","version":1,"cards":[],"cards":[]}`, ['cards occurs more than once']],
  ['no project', document({ projects: [], boards: [], columns: [], cards: [] }), ['projects must contain a project']],
  [
    'a project without a board',
    document({ boards: [], columns: [], cards: [] }),
    ['boards must contain a board of project 1'],
  ],
  ['a title that is empty', card({ title: '' }), ['cards.0.title must not be empty']],
  ['NUL', card({ title: 'a\0b' }), ['cards.0.title must not contain the NUL character']],
  ['half a character', card({ prompt: '\ud800' }), ['cards.0.prompt must be well-formed Unicode']],
  [
    'a prompt that is too long',
    card({ prompt: 'x'.repeat(65_537) }),
    ['cards.0.prompt must have at most 65536 characters'],
  ],
  ['an unknown field', card({ colour: 'red' }), ['cards.0.colour is not a known field']],
  ['a path to a worktree', card({ worktreePath: '/' }), ['cards.0.worktreePath is not a known field']],
  ['a field that is missing', card({ title: undefined }), ['cards.0.title is required']],
  ['an unknown column', card({ columnId: 9 }), ['cards.0.columnId must be the ID of a record in columns']],
  [
    'an unknown column in a pipeline',
    card({ pipeline: [{ columnId: 2 }, { columnId: 9 }] }),
    ['cards.0.pipeline.1.columnId must be the ID of a record in columns'],
  ],
  [
    'a duplicate id',
    document({ cards: [1, 1].map((id, position) => ({ id, columnId: 1, position, title: 'x' })) }),
    ['cards.1.id occurs more than once'],
  ],
  [
    'a duplicate position',
    document({ cards: [1, 2].map(id => ({ id, columnId: 1, position: 0, title: 'x' })) }),
    ['cards.1.position is already used in column 1'],
  ],
  [
    'a gap',
    document({ cards: [0, 2].map((position, at) => ({ id: at + 1, columnId: 1, position, title: 'x' })) }),
    ['cards must not leave a gap in column 1: position 1 is missing'],
  ],
  ['a missing position', card({ position: null }), ['cards.0.position is required']],
  [
    'a position of an archived card',
    card({ archivedAt: at }),
    ['cards.0.position must be null, because the card is archived or not a kanban card'],
  ],
  [
    'an unarchived card in an archive column',
    card({ columnId: 3 }),
    ['cards.0.archivedAt is required in an archive column'],
  ],
  [
    'a terminal card without a command',
    card({ kind: 'terminal', position: null }),
    ['cards.0.command is required for a terminal card'],
  ],
  [
    'a command of a card without a terminal',
    card({ command: 'rm -rf /' }),
    ['cards.0.command applies only to terminal cards'],
  ],
  [
    'two assistants',
    document({ cards: [1, 2].map(id => ({ id, columnId: 1, kind: 'assistant', position: null, title: 'x' })) }),
    ['cards.1.kind is already used in project 1'],
  ],
  ['an invalid commit', card({ baseCommit: '--output=x' }), ['cards.0.baseCommit must be the ID of a commit']],
  [
    'a session of an unknown card',
    document({ sessions: [{ ...session, cardId: 5 }] }),
    ['sessions.0.cardId must be the ID of a record in cards'],
  ],
  [
    'a message of an unknown session',
    document({ messages: [{ sessionId: 4, role: 'user', at, content: '' }] }),
    ['messages.0.sessionId must be the ID of a record in sessions'],
  ],
  [
    'a tool without its call',
    document({ sessions: [session], messages: [{ sessionId: 1, role: 'tool', at, content: '' }] }),
    ["messages.0.tool is required for a tool's message"],
  ],
  [
    'an invalid time',
    card({ createdAt: 'yesterday' }),
    ['cards.0.createdAt must be a time like 2026-01-31T12:00:00.000Z'],
  ],
  [
    'content that is not base64',
    document({ attachments: [attachment], contents: [{ attachmentId: 1, content: 'ab*=' }] }),
    ['contents.0.content must be base64'],
  ],
  [
    'content of another size',
    document({
      attachments: [attachment],
      contents: [{ attachmentId: 1, content: Buffer.from('abcd').toString('base64') }],
    }),
    ['attachments.0.size is 3, but its content has 4 bytes'],
  ],
  [
    'content of another hash',
    document({
      attachments: [attachment],
      contents: [{ attachmentId: 1, content: Buffer.from('abd').toString('base64') }],
    }),
    ['attachments.0.sha256 is not the hash of its content'],
  ],
  [
    'content without an attachment',
    document({ contents: [{ attachmentId: 1, content: '' }] }),
    ['contents.0.attachmentId must be the ID of a record in attachments'],
  ],
  [
    'an attachment that is too large',
    document({ attachments: [{ ...attachment, size: 3_000_000 }] }),
    ['attachments.0.size must be at most 2000000: this server does not accept larger attachments'],
  ],
  [
    'a value that is too deep',
    `{"format":"board","version":1,"cards":[${'['.repeat(100)}`,
    [expect.stringContaining('nests deeper than 64 levels') as never],
  ],
]

it.each(cases)('a file is rejected for %s, and nothing is created', async (_, file, faults) => {
  const before = [await rowCounts(board), stored(board)]
  expect(await faultsOf(board, { format: 'board' }, file)).toEqual(faults)
  expect([await rowCounts(board), stored(board), underWay(board)]).toEqual([...before, []])
})

it('at most the first 20 faults of a file are reported', async () => {
  const faults = await faultsOf(
    board,
    { format: 'board' },
    document({
      cards: Array.from({ length: 50 }, (_, position) => ({ id: position + 1, columnId: 1, position, title: '' })),
    }),
  )
  expect(faults).toEqual(Array.from({ length: 20 }, (_, at) => `cards.${at}.title must not be empty`))
})

it.each(['INSERT ON attachments', 'INSERT ON agent_sessions', 'UPDATE OF hidden ON projects', 'INSERT ON events'])(
  'an import leaves no records if a write fails at %s',
  async event => {
    const projectId = (await board.client.projects.create({ name: 'Web', path: tmpdir() })).id
    const { db } = board.server.app
    const whole = document({
      sessions: [session],
      attachments: [attachment],
      contents: [{ attachmentId: 1, content: Buffer.from('abc').toString('base64') }],
    })
    await db.transaction(tx => tx.run(`CREATE TRIGGER broken BEFORE ${event} BEGIN SELECT RAISE(ABORT, 'broken'); END`))
    try {
      for (const query of [{ format: 'board' }, { format: 'board', projectId }].slice(
        0,
        event.includes('projects') ? 1 : 2,
      ) as Array<Record<string, string>>) {
        const before = [await rowCounts(board), stored(board)]
        expect((await importFile(board, query, whole)).status).toBe(500)
        expect([await rowCounts(board), stored(board), underWay(board)]).toEqual([...before, []])
      }
    } finally {
      await db.transaction(tx => tx.run('DROP TRIGGER broken'))
    }
  },
)
