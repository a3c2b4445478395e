import type { RawUpdate } from '../link/agentLink.ts'

const mostKept = 65_536
const summaryLength = 500

/** What an agent said last in a turn: its message after its last tool call. */
export interface LastWords {
  /** A turn begins. */
  begin(): void
  hear(update: RawUpdate): void
  text(): string
}

export function createLastWords(): LastWords {
  let words = ''
  let isOver = false
  return {
    begin: () => {
      isOver = true
    },
    hear({ sessionUpdate, content }) {
      if (sessionUpdate.startsWith('tool_call') || sessionUpdate === 'agent_thought_chunk') isOver = true
      if (sessionUpdate !== 'agent_message_chunk') return
      const text = (content as { text?: unknown } | null | undefined)?.text
      if (typeof text !== 'string') return
      if (isOver) words = ''
      isOver = false
      words = (words + text).slice(-mostKept)
    },
    text: () => words.replaceAll('\0', '').toWellFormed().trim(),
  }
}

/** A text as a summary: at most 500 characters on one line, cut at the end of a word. */
export function condense(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line.length <= summaryLength) return line
  const cut = line.slice(0, summaryLength - 1)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), summaryLength / 2)).toWellFormed()}…`
}
