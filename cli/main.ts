/**
 * The command line.
 *
 * The tree is lazy. cli/tree.ts lists every noun with its name, alias, summary and group, which is all that the top help needs.
 * The verbs of a noun are in cli/commands/<noun>.ts, which exports
 *
 *     export function register(command: Command): void
 *
 * `command` is the noun's Command; add verbs (`command.command('list')...`) or, for a noun without verbs, arguments, options and
 * an action. The file is imported when its noun is invoked, or for help and completion. An action creates its context with `const
 * context = await openContext(command)`, prints through `context.out`, and throws errors: cli/failures/report.ts formats the
 * three lines and sets the exit code. Every verb has an example: `example(command, 'board cards list -c review')` of
 * cli/help/help.ts.
 * Load code that few commands need with `import()`: the build bundles the command line into one file, but executes only the
 * imported modules. The server and the ink screens are separate programs (cli/programs.ts).
 * The global options (cli/program.ts) are accepted at any position, so a verb that needs one of them reads
 * `context.globals` and declares nothing.
 */
import { createProgram } from './program.ts'
import type { Programs } from './programs.ts'
import { run } from './parsing/run.ts'

export { manPages } from './help/manPages.ts'

/** Runs the command that the words name, and leaves its exit code in process.exitCode. */
export async function main(argv: string[], programs: Programs): Promise<void> {
  // Shell completions call `board __complete -- <words>`.
  if (argv[0] === '__complete') return (await import('./help/completion.ts')).printCompletion(programs, argv.slice(2))
  await run(createProgram(programs, argv), argv)
}
