/**
 * The command line.
 *
 * The tree is lazy. cli/tree.ts lists every noun with its name, alias, summary and group, which is all that the top help needs.
 * What is below a noun stands in cli/commands/<noun>.ts, which exports
 *
 *     export function register(command: Command): void
 *
 * `command` is the noun's Command; add verbs (`command.command('list')...`) or, for a noun that acts itself, arguments, options
 * and an action. The file is imported when its noun is invoked, or for help and completion. An action gets its context by
 * `const context = await openContext(command)`, prints through `context.out`, and throws: cli/failures/report.ts makes the three lines
 * and the exit code. Every verb has an example: `example(command, 'board cards list -c review')` of cli/help/help.ts.
 * What only few commands need is imported by `import()`: the build makes one file of the command line, and of that only runs
 * what a command has imported. The server and what ink draws are programs of their own (cli/programs.ts).
 * The global options (cli/program.ts) are taken anywhere on the line, so a verb that needs one of those names reads
 * `context.globals` and declares nothing.
 */
import { createProgram } from './program.ts'
import type { Programs } from './programs.ts'
import { run } from './parsing/run.ts'

export { manPages } from './help/manPages.ts'

/** Runs the command that the words name, and leaves its exit code in process.exitCode. */
export async function main(argv: string[], programs: Programs): Promise<void> {
  // The shells' completion asks by `board __complete -- <words>`.
  if (argv[0] === '__complete') return (await import('./help/completion.ts')).printCompletion(programs, argv.slice(2))
  await run(createProgram(programs, argv), argv)
}
