import { createHash } from 'node:crypto'
import type { Doc } from './files.ts'

const columnTypes = ['backlog', 'active', 'active', 'done', 'archive']
const at = '2026-01-02T03:04:05.678Z'

/** A board with `cardCount` cards: every tenth one has a session of three messages, and `attachmentCount` have an attachment. */
export function largeBoard(path: string, cardCount: number, attachmentCount = 0): Doc {
  const cards = Array.from({ length: cardCount }, (_, index) => ({
    id: index + 1,
    columnId: (index % 5) + 1,
    position: Math.floor(index / 5),
    title: `Card ${index}`,
    prompt: `Do number ${index}. `.repeat(15),
    labels: ['bug', `area-${index % 50}`],
    pipeline: [{ columnId: 2 }, { columnId: 3, prompt: 'Mind the tests' }],
    createdAt: at,
    updatedAt: at,
    archivedAt: index % 5 === 4 ? at : null,
    status: index % 7 === 0 ? 'completed' : 'idle',
  }))
  const sessions = cards
    .filter(({ id }) => id % 10 === 0)
    .map(({ id }) => ({
      id,
      cardId: id,
      purpose: 'work',
      agent: 'claude',
      status: 'completed',
      prompt: 'Go',
      createdAt: at,
      startedAt: at,
      endedAt: at,
      messages: 3,
    }))
  const messages = sessions.flatMap(({ id }) =>
    ['user', 'thought', 'agent'].map(role => ({ sessionId: id, role, at, content: `What ${role} says. `.repeat(10) })),
  )
  const files = Array.from({ length: attachmentCount }, (_, index) => ({
    id: index + 1,
    bytes: Buffer.from(`attachment ${index} `.repeat(100)),
  }))
  const attachments = files.map(({ id, bytes }) => ({
    id,
    cardId: id,
    filename: 'notes.txt',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }))
  const contents = files.map(({ id, bytes }) => ({ attachmentId: id, content: bytes.toString('base64') }))
  return {
    format: 'board',
    version: 1,
    projects: [{ id: 1, name: 'Large', path }],
    boards: [{ id: 1, projectId: 1, name: 'Board', position: 0 }],
    columns: columnTypes.map((columnType, position) => ({
      id: position + 1,
      boardId: 1,
      name: `Column ${position}`,
      columnType,
      position,
    })),
    cards,
    sessions,
    messages,
    attachments,
    contents,
  }
}
