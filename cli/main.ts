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
 * `const context = await openContext(command)`, prints through `context.out`, and throws: cli/errors.ts makes the three lines
 * and the exit code. Every verb has an example: `example(command, 'board cards list -c review')` of cli/help.ts.
 * What only few commands need and takes long to load (ink, undici, conf, the server) is imported by `import()` and named in
 * build.mjs, which then keeps it out of the one file that every command loads.
 * The global options (cli/program.ts) are taken anywhere on the line, so a verb that needs one of those names reads
 * `context.globals` and declares nothing.
 */
import { createProgram } from './program.ts'
import { run } from './run.ts'

void main(process.argv.slice(2))

async function main(argv: string[]): Promise<void> {
  // The shells' completion asks by `board __complete -- <words>`.
  if (argv[0] === '__complete') return (await import('./completion.ts')).printCompletion(argv.slice(2))
  await run(createProgram(argv), argv)
}
