import type { UnsavedText, UnsavedTexts } from '../../input/unsavedTexts.ts'
import type { Cmd, Msg } from '../state/model.ts'
import type { Hold } from '../terminal/session.ts'

/** The commands that involve the server or other programs. */
export type Job = Exclude<Cmd, { type: 'quit' | 'interrupt' | 'stop' | 'redraw' }>
export type JobOf<Type extends Job['type']> = Extract<Job, { type: Type }>

/** The project and board shown while a command runs. */
export interface ShownBoard {
  projectId: string
  projectName: string
  boardId: string
}
export interface CmdHooks {
  dispatch: (msg: Msg) => void
  /** Stops reading keys. The next keys are for the program that `suspendWhile` runs. */
  hold: () => Hold
  suspendWhile: <T>(held: Hold, work: () => Promise<T>) => Promise<T>
  /** Copies a text to the terminal's clipboard. */
  copy: (text: string) => void
  /** The texts that the server does not have yet. */
  unsaved: UnsavedTexts
}
/** The hooks of one command. */
export interface JobHooks extends Pick<CmdHooks, 'copy'> {
  /** Suspends the board while another program uses the terminal. */
  suspendWhile: <T>(work: () => Promise<T>) => Promise<T>
  /** Opens a text in the person's editor. */
  write: (filename: string, text: string, isTyped: boolean) => Promise<UnsavedText>
}
