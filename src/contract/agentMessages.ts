import * as v from 'valibot'
import { Count, Id, Prompt, refTo, Time } from './fields.ts'

/** How much goes to an agent with one message. */
export const promptLimits = {
  maxAttachments: 20,
  /** Of all attachments of a message together. */
  maxBytes: 256 * 1024 * 1024,
  /** A larger picture is a link to the file. */
  maxImageBytes: 5 * 1024 * 1024,
  /** Of all pictures of a message together; those beyond are links. */
  maxImagesBytes: 20 * 1024 * 1024,
  /** A larger text is a link to the file. */
  maxTextBytes: 256 * 1024,
}

/** Attachments that go to the agent with a message, each once. */
const AttachmentIds = v.pipe(
  v.array(refTo('ATTACHMENT_NOT_FOUND')),
  v.maxLength(promptLimits.maxAttachments, `must have at most ${promptLimits.maxAttachments} attachments`),
  v.transform(ids => [...new Set(ids)]),
)

/** What a person says to an agent. */
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
  /** What a person gave with it; what was deleted since has its name here still. */
  attachments: v.array(v.object({ id: Id, filename: v.string() })),
  at: Time,
})
