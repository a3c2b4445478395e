/** One response of a model: its thoughts, its text, its tool calls, and their cost. */
export interface Answer {
  thinking?: string
  text?: string
  calls?: readonly ToolCall[]
  usage?: Partial<Usage>
}
export interface ToolCall {
  name: string
  /** Its arguments, or a function that derives them from the conversation so far, as JSON without backslashes. */
  input: object | ((told: string) => object)
}
/** Tokens. `input` includes those that were `cached`, `output` those that were `thought`. */
export interface Usage {
  input: number
  cached: number
  output: number
  thought: number
}
/** How a model service fails instead: by status, in the middle of an answer, or by saying nothing. */
export interface Failure {
  fails: number | 'cut' | 'stalls'
  /** The message of the service, in its own error format. */
  message?: string
  /** The whole body of the answer instead. */
  body?: object
  /** Seconds, in the header Retry-After. */
  retryAfter?: number
  /** How often; then the next turn is played. Without it, always. */
  times?: number
}
export type Turn = Answer | Failure

/** An answer as a protocol writes it. */
export interface Reply {
  id: string
  model: string
  thinking: string
  text: string
  calls: ReadonlyArray<{ id: string; name: string; input: object }>
  usage: Usage
}
/** A server-sent event. */
export interface ServerEvent {
  event?: string
  data: object | string
}

/** The properties of a request for a response. */
export interface Request {
  model: string
  streams: boolean
  offersTools: boolean
  /** The JSON schema to which the answer's text must keep. */
  schema?: JsonSchema
}
export interface JsonSchema {
  type?: string
  enum?: string[]
  properties?: Record<string, JsonSchema>
}

/** How one kind of model service talks. */
export interface Protocol {
  name: string
  /** The paths at which it is asked for an answer, wherever its base URL leads. */
  path: RegExp
  asks(path: string, body: any): Request
  events(reply: Reply): Iterable<ServerEvent>
  /** The response in one piece, not streamed. */
  whole(reply: Reply): object
  error(status: number, message: string): object
}

/** A text in pieces, as models give it. */
export const words = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? []
/** The arguments of a call in pieces. */
export const pieces = (json: string): string[] => json.match(/.{1,16}/gs) ?? []
