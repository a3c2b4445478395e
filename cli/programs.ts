import { Command } from 'commander'
import type { ServerProgram } from '../src/config/serverProgram.ts'

/** The path of the program, and a loader for the server, which most commands do not need. `bin/board.js` passes both. */
export interface Programs {
  /** The file that starts `board`. Services and background servers are started with it. */
  path: string
  server(): Promise<ServerProgram>
}

/** The root of the commands' tree. */
export class RootCommand extends Command {
  readonly programs: Programs

  constructor(programs: Programs) {
    super('board')
    this.programs = programs
  }
}

/** The programs that the root of a command was created with. */
export function programsOf(command: Command): Programs {
  if (command instanceof RootCommand) return command.programs
  if (command.parent) return programsOf(command.parent)
  throw new Error(`${command.name()} has no root command.`)
}
