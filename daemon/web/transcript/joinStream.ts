import type { ReactNode } from 'react'
import type { Message, OpenedCard } from '../../../src/boardModel/openedCard.ts'

/** An entry between the messages, such as a comment. */
export interface StreamLine {
  id: string
  at: string
  content: ReactNode
}

/** Loaded rows of one kind, the oldest first, and how to load earlier ones. */
interface Source {
  older: OpenedCard['older']
  onOlder: () => Promise<void>
}

/**
 * Joins messages and other lines to one stream. It starts where both are loaded, so that nothing is missing in between.
 */
export function joinStream(
  from: Source & { messages: readonly Message[] },
  others: Source & { lines: readonly StreamLine[] },
): Source & { messages: readonly Message[]; lines: readonly StreamLine[] } {
  const { messages } = from
  const { lines } = others
  const firstMessage = from.older === 'none' ? '' : (messages[0]?.at ?? '')
  const firstLine = others.older === 'none' ? '' : (lines[0]?.at ?? '')
  const start = firstMessage > firstLine ? firstMessage : firstLine
  const { older, onOlder } = from.older === 'none' || firstLine > firstMessage ? others : from
  return { messages: sinceStart(messages, start), lines: sinceStart(lines, start), older, onOlder }
}

/** Keeps the list itself if nothing is cut off, so that it does not count as changed. */
const sinceStart = <T extends { at: string }>(rows: readonly T[], start: string): readonly T[] =>
  rows.length === 0 || rows[0]!.at >= start ? rows : rows.filter(({ at }) => at >= start)
