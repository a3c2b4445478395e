import type { RawUpdate } from '../../../src/agents/link/agentLink.ts'

/** Updates of a session in the form that agents send. */
export const say = (text: string, role = 'agent_message_chunk'): RawUpdate => ({
  sessionUpdate: role,
  content: { type: 'text', text },
})
export const toolCall = (toolCallId: string, more: object = {}): RawUpdate => ({
  sessionUpdate: 'tool_call',
  toolCallId,
  title: 'Run',
  kind: 'execute',
  status: 'pending',
  ...more,
})
export const toolUpdate = (toolCallId: string, more: object = {}): RawUpdate => ({
  sessionUpdate: 'tool_call_update',
  toolCallId,
  ...more,
})
