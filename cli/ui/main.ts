import { setTimeout as delay } from 'node:timers/promises'
import { Live, type LiveMessage } from '../../src/client/socket.ts'
import type { Context } from '../context/context.ts'
import { UnsavedTexts } from '../input/unsavedTexts.ts'
import { screen } from '../screens/screen.ts'
import { themeOf, type Theme } from '../screens/theme.ts'
import type { ShownBoard } from './cmds/job.ts'
import { createCmdRunner, type CmdRunner } from './cmds/runner.ts'
import type { Start } from './start.ts'
import { initialModel, nextTickMs, type Preferences } from './state/initial.ts'
import type { Cmd, Model, Msg, UserSettings } from './state/model.ts'
import { update } from './state/update.ts'
import { paint } from './terminal/panes.ts'
import { typedTextOfDialog } from './state/typedText.ts'
import { TerminalSession } from './terminal/session.ts'

export interface UiOptions {
  isAscii: boolean
  alternate: boolean
  mouse: boolean
  preferences: Preferences
}

/** The minimum time between frames. Messages within this time share a frame. */
const frameMs = 33
/** The time that the exit waits for text that is being sent to the server. After that, the text is saved in a file. */
const savingMs = 3000

/**
 * Shows the board until the person quits.
 * @throws ApiFailure | Unreachable when the server refuses the subscription to events, or is unreachable at first
 */
export async function showBoard(context: Context, start: Start, options: UiOptions): Promise<void> {
  const ui = new Ui(context, start, options)
  try {
    await ui.run()
  } finally {
    await ui.close()
  }
}

/** The Elm loop: Msg -> Model -> view and Cmd. */
class Ui {
  readonly #ended: Promise<void>
  readonly #terminal: TerminalSession
  readonly #themeWith: (settings: UserSettings) => Theme
  #theme: Theme
  readonly #live: Live
  readonly #cmds: CmdRunner
  readonly #unsaved = new UnsavedTexts()
  #model: Model
  #events: LiveMessage[] = []
  #drawTimer: NodeJS.Timeout | undefined
  #tickTimer: NodeJS.Timeout | undefined
  #drawnAtMs = 0
  /** The subscribed project, and the project that was read since the subscription. */
  #followed = ''
  #readAlong = ''
  #isClosed = false
  #end: (error?: unknown) => void = () => {
    /* The constructor replaces this function. */
  }

  constructor(context: Context, start: Start, { isAscii, alternate, mouse, preferences }: UiOptions) {
    this.#ended = new Promise<void>((resolve, reject) => {
      this.#end = error => (error === undefined ? resolve() : reject(error as Error))
    })
    this.#themeWith = settings => themeOf({ ...settings, color: context.out.terminal.color, isAscii })
    this.#theme = this.#themeWith(start.settings)
    const size = { width: process.stdout.columns || 80, height: process.stdout.rows || 24 }
    this.#model = initialModel(start, size, preferences)
    this.#cmds = createCmdRunner(context, () => shownIn(this.#model), {
      dispatch: msg => this.#dispatch(msg),
      hold: () => this.#terminal.hold(),
      suspendWhile: (held, work) => this.#terminal.suspendWhile(held, work),
      copy: text => this.#terminal.copy(text),
      unsaved: this.#unsaved,
    })
    this.#terminal = new TerminalSession({
      alternate,
      mouse,
      onMouse: event => this.#dispatch({ type: 'mouse', mouse: event }),
      onKey: key => this.#dispatch({ type: 'key', key }),
      onResize: size => this.#dispatch({ type: 'resized', size }),
      onReturn: () => this.#dispatch({ type: 'returned' }),
      onGone: () => this.#end(),
      onError: error => this.#end(error),
      onExit: () => this.#keepUnsaved(),
    })
    this.#live = new Live(context.connection, {
      onEvent: message => {
        this.#events.push(message)
        this.#schedule()
      },
      onState: ({ name }) => {
        if (name === 'open' || name === 'waiting') this.#dispatch({ type: 'live', state: name })
      },
      onSubscribed: projectId => {
        // After a reconnection, missed events are replayed instead.
        if (projectId !== this.#model.project.id || projectId === this.#readAlong) return
        this.#readAlong = projectId
        this.#dispatch({ type: 'subscribed' })
      },
    })
  }

  /** Resolves when the person quits. @throws any other error that ends the board */
  run(): Promise<void> {
    this.#draw()
    this.#follow(this.#model.project.id)
    return Promise.race([this.#ended, this.#live.done])
  }

  /** Ends after the program that uses the terminal, so that the text of an open editor is saved or kept. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#drawTimer)
    clearTimeout(this.#tickTimer)
    this.#live.close()
    const saved = this.#cmds.close()
    await this.#terminal.close()
    const timer = new AbortController()
    await Promise.race([saved, delay(savingMs, undefined, { signal: timer.signal })])
    timer.abort()
    this.#keepUnsaved()
    this.#terminal.release()
  }

  /** Keeps typed text in files, and names them. Synchronous, so that it works for every kind of exit. */
  #keepUnsaved(): void {
    const typed = typedTextOfDialog(this.#model.dialog)
    if (typed) this.#unsaved.add(typed.filename, typed.text, true)
    this.#model = { ...this.#model, dialog: undefined }
    this.#unsaved.saveAll()
  }

  #dispatch(msg: Msg): void {
    this.#apply(msg)
    this.#schedule()
  }

  #runCmd(cmd: Cmd): void {
    switch (cmd.type) {
      case 'quit':
        return this.#end()
      case 'interrupt':
        process.exitCode = 130
        return this.#end()
      case 'stop':
        return this.#terminal.stop()
      case 'redraw':
        return this.#terminal.redraw()
      default:
        return this.#cmds.run(cmd)
    }
  }

  #schedule(): void {
    if (this.#isClosed) return
    this.#drawTimer ??= setTimeout(
      () => {
        this.#drawTimer = undefined
        this.#draw()
      },
      Math.max(0, this.#drawnAtMs + frameMs - performance.now()),
    )
  }

  #draw(): void {
    this.#drawnAtMs = performance.now()
    const events = this.#events.splice(0)
    if (events.length > 0) this.#apply({ type: 'events', events })
    this.#apply({ type: 'tick' })
    this.#terminal.draw(paint(screen(this.#model, this.#theme), this.#model.size))
    clearTimeout(this.#tickTimer)
    this.#tickTimer = setTimeout(() => this.#schedule(), nextTickMs(this.#model))
  }

  #apply(msg: Msg): void {
    const { model, cmds } = update({ ...this.#model, nowMs: Date.now() }, msg)
    if (model.settings !== this.#model.settings) this.#theme = this.#themeWith(model.settings)
    this.#model = model
    if (model.project.id !== this.#followed && this.#live) this.#follow(model.project.id)
    for (const cmd of cmds) this.#runCmd(cmd)
  }

  #follow(projectId: string): void {
    if (this.#followed !== '') this.#live.unsubscribe(this.#followed)
    if (projectId !== '') this.#live.subscribe(projectId)
    this.#followed = projectId
    this.#readAlong = ''
  }
}

const shownIn = ({ project, boardId }: Model): ShownBoard => ({
  projectId: project.id,
  projectName: project.name,
  boardId,
})
