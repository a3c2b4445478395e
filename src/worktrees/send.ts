/** Passes bytes of a result to the caller, in order. `part` names the kind of the bytes if a result has several kinds. */
export type Send = (bytes: Buffer, part?: ResultPart) => Promise<void>
export type ResultPart = 'diff' | 'pack' | 'index' | 'largeFile'
