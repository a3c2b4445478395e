/** The kind of a line in an opened card; determines its style. */
export type LineKind =
  | 'text'
  | 'head'
  | 'dim'
  | 'code'
  | 'user'
  | 'agent'
  | 'thought'
  | 'system'
  | 'plan'
  | 'toolGoing'
  | 'toolDone'
  | 'toolFailed'
  | 'file'
  | 'hunk'
  | 'added'
  | 'removed'
  | 'failed'
export interface TextLine {
  kind: LineKind
  text: string
  /** The text at the right end of the line. */
  aside?: string
}
