import * as v from 'valibot'
import { Count, Id, Prompt, refTo, Time } from '../fields.ts'

/** The limits of one message to an agent. */
export const promptLimits = {
  maxAttachments: 20,
  /** The total of all attachments of a message. */
  maxBytes: 256 * 1024 * 1024,
  /** A larger picture becomes a link to the file. */
  maxImageBytes: 5 * 1024 * 1024,
  /** The total of all pictures of a message. Further pictures become links. */
  maxImagesBytes: 20 * 1024 * 1024,
  /** A larger text becomes a link to the file. */
  maxTextBytes: 256 * 1024,
}

/** Attachments that go to the agent with a message, without duplicates. */
const AttachmentIds = v.pipe(
  v.array(refTo('ATTACHMENT_NOT_FOUND')),
  v.maxLength(promptLimits.maxAttachments, `must have at most ${promptLimits.maxAttachments} attachments`),
  v.transform(ids => [...new Set(ids)]),
)

/** A user's message to an agent. */
export const AgentMessage = v.strictObject({
  content: v.pipe(Prompt, v.minLength(1, 'must not be empty')),
  attachmentIds: v.optional(AttachmentIds, []),
})
export type MessageInput = v.InferOutput<typeof AgentMessage>

const MessageRole = v.picklist(['user', 'agent', 'thought', 'tool', 'plan', 'system'])
export const Tool = v.object({
  name: v.string(),
  kind: v.string(),
  status: v.picklist(['pending', 'in_progress', 'completed', 'failed']),
  input: v.unknown(),
  output: v.unknown(),
  locations: v.array(v.object({ path: v.string(), line: v.nullable(Count) })),
})
export const Message = v.object({
  id: Id,
  sessionId: Id,
  role: MessageRole,
  content: v.string(),
  tool: v.nullable(Tool),
  /** The attachments of the message. An attachment that was deleted since keeps its name here. */
  attachments: v.array(v.object({ id: Id, filename: v.string() })),
  at: Time,
})
