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
/** Token counts. `input` includes `cached`, and `output` includes `thought`. */
export interface Usage {
  input: number
  cached: number
  output: number
  thought: number
}
/** A failure of the model service: a status, a failure in the middle of a response, or no response. */
export interface Failure {
  fails: number | 'cut' | 'stalls'
  /** The message of the service, in its own error format. */
  message?: string
  /** The complete body of the response instead. */
  body?: object
  /** Seconds, in the header Retry-After. */
  retryAfter?: number
  /** How often to fail before the next turn is played. Without it, always. */
  times?: number
}
export type Turn = Answer | Failure

/** A response in the format of a protocol. */
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
  /** The JSON schema that the response's text must match. */
  schema?: JsonSchema
}
export interface JsonSchema {
  type?: string
  enum?: string[]
  properties?: Record<string, JsonSchema>
}

/** The protocol of one kind of model service. */
export interface Protocol {
  name: string
  /** The paths of requests for a response, below any base URL. */
  path: RegExp
  asks(path: string, body: any): Request
  events(reply: Reply): Iterable<ServerEvent>
  /** The response in one piece, not streamed. */
  whole(reply: Reply): object
  error(status: number, message: string): object
}

/** A text in pieces, like a model streams it. */
export const words = (text: string): string[] => text.match(/\S+\s*|\s+/g) ?? []
/** The arguments of a call in pieces. */
export const pieces = (json: string): string[] => json.match(/.{1,16}/gs) ?? []
