import type { RawUpdate } from '../link/agentLink.ts'

const maxLength = 65_536
const maxSummaryLength = 500

/** An agent's last message in a turn: its text after its last tool call. */
export interface LastMessage {
  beginTurn(): void
  add(update: RawUpdate): void
  text(): string
}

export function createLastMessage(): LastMessage {
  let message = ''
  let isComplete = false
  return {
    beginTurn: () => {
      isComplete = true
    },
    add({ sessionUpdate, content }) {
      if (sessionUpdate.startsWith('tool_call') || sessionUpdate === 'agent_thought_chunk') isComplete = true
      if (sessionUpdate !== 'agent_message_chunk') return
      const text = (content as { text?: unknown } | null | undefined)?.text
      if (typeof text !== 'string') return
      if (isComplete) message = ''
      isComplete = false
      message = (message + text).slice(-maxLength)
    },
    text: () => message.replaceAll('\0', '').toWellFormed().trim(),
  }
}

/** A text as a summary: at most 500 characters on one line, cut at the end of a word. */
export function toSummary(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line.length <= maxSummaryLength) return line
  const cut = line.slice(0, maxSummaryLength - 1)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), maxSummaryLength / 2)).toWellFormed()}…`
}
