import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/boardModel/openedCard.ts'
import { runWords, transcriptItems } from '../../src/boardModel/transcriptItems.ts'

/** A message for each letter: lower-case letters are tool calls. */
const roles = { U: 'user', A: 'agent', T: 'thought', P: 'plan' } as const
const calls = {
  r: ['read', 'completed'],
  e: ['edit', 'completed'],
  x: ['execute', 'failed'],
  o: ['other', 'completed'],
  n: ['execute', 'in_progress'],
} as const

function messagesOf(letters: string, sessionOf: (at: number) => string = () => '1'): Message[] {
  return [...letters].map((letter, at) => {
    const [kind, status] = calls[letter as keyof typeof calls] ?? []
    const locations = kind === 'read' || kind === 'edit' ? [{ path: `f${at % 4}`, line: null }] : []
    return {
      id: String(at + 1),
      sessionId: sessionOf(at),
      role: roles[letter as keyof typeof roles] ?? 'tool',
      content: letter === 'U' ? 'First read the notes. Fix the roof.' : '',
      tool: kind && status ? { name: letter, kind, status, input: null, output: null, locations } : null,
      attachments: [],
      at: '2030-01-01T00:00:00.000Z',
    }
  })
}

describe('the lines of a transcript', () => {
  test.each([
    ['', []],
    ['UA', [1, 1]],
    ['rr', [1, 1]],
    ['rrr', [3]],
    ['ArrrA', [1, 3, 1]],
    ['rTrTr', [5]],
    // A thought after the last call is not part of the run.
    ['rrrT', [3, 1]],
    ['TrrrTA', [4, 1, 1]],
    ['rrrn', [3, 1]],
    ['rrnr', [1, 1, 1, 1]],
    ['rrPrrr', [1, 1, 1, 3]],
  ])('of %j have %j messages', (letters, sizes) => {
    expect(transcriptItems(messagesOf(letters), undefined).map(({ messages }) => messages.length)).toEqual(sizes)
  })

  test('end at the start of a session, whose first message is the prompt of the board if it contains the task', () => {
    const messages = messagesOf('UArrrrrrUAU', at => (at < 5 ? '1' : '2'))
    const items = transcriptItems(messages, 'Fix the roof.')
    expect(items.map(({ messages }) => messages.length)).toEqual([1, 1, 3, 3, 1, 1, 1])
    expect(items.map(({ startsSession }) => startsSession)).toEqual([false, false, false, true, false, false, false])
    expect(items.map(({ isPrompt }) => isPrompt)).toEqual([true, false, false, false, false, false, false])
    // A person's message can resume a session.
    for (const task of ['Paint the door.', undefined]) expect(transcriptItems(messages, task)[0]!.isPrompt).toBe(false)
  })

  test.each([
    ['rrr', 'Read 3 files'],
    ['rrrrrr', 'Read 4 files'],
    ['rex', 'Read 1 file, edited 1 file, ran 1 command, 1 failed'],
    ['xxr', 'Read 1 file, ran 2 commands, 2 failed'],
    ['ooo', 'Made 3 tool calls'],
    ['rrTo', 'Read 2 files, made 1 other call'],
  ])('name the calls of the run %j as %j', (letters, words) => {
    expect(runWords(messagesOf(letters))).toBe(words)
  })
})
