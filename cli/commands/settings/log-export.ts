import { Option, type Command } from 'commander'
import type { Contract } from '../../../src/contract/index.ts'
import { LogLevel } from '../../../src/contract/server/logs.ts'
import type { Output, Sent } from '../../../src/contract/route.ts'
import { collect } from '../../parsing/arguments.ts'
import { openUserContext, type Context } from '../../context/context.ts'
import { Failure, usage } from '../../failures/failure.ts'
import { example, prints } from '../../help/help.ts'
import type { Column } from '../../output/output.ts'
import { readStdin } from '../../input/prompt.ts'
import { readJson } from '../../input/readJson.ts'

type LogExport = Output<Contract['logs']['getExport']>
type Change = Sent<Contract['logs']['setExport']>
type Tested = Output<Contract['logs']['testExport']>
interface Options {
  on?: boolean
  off?: boolean
  endpoint?: string
  minLevel?: LogLevel
  compression?: 'none' | 'gzip'
  headerStdin?: string
  removeHeader?: string[]
  file?: string
  test?: boolean
}

const fields: Column<LogExport>[] = [
  { name: 'enabled', header: 'Log export', value: settings => settings.enabled },
  { name: 'endpoint', header: 'Endpoint', value: settings => settings.endpoint },
  { name: 'protocol', header: 'Protocol', value: settings => settings.protocol },
  { name: 'headers', header: 'Headers', value: settings => Object.keys(settings.headers) },
  { name: 'minLevel', header: 'Least level', value: settings => settings.minLevel },
  { name: 'compression', header: 'Compression', value: settings => settings.compression },
]
const testFields: Column<Tested>[] = [
  { name: 'ok', value: tested => tested.ok },
  { name: 'delivered', value: tested => tested.delivered },
  { name: 'status', value: tested => tested.status },
  { name: 'error', value: tested => tested.error },
]

/** Registers the command that configures the log export. */
export function registerLogExport(settings: Command): void {
  const setters = ['on', 'off', 'endpoint', 'minLevel', 'compression', 'headerStdin', 'removeHeader', 'file']
  const command = settings
    .command('log-export')
    .summary('Send the log to an OpenTelemetry receiver')
    .description(
      "Show, change or test the export of the server's log to an OpenTelemetry receiver (OTLP over HTTP as JSON). Settings that you omit are unchanged. Header values are stored encrypted and never shown.",
    )
    .option('--on', 'start sending the log')
    .addOption(new Option('--off', 'stop sending the log').conflicts('on'))
    .option('--endpoint <url>', 'address of the receiver (default path: /v1/logs)')
    .addOption(new Option('--min-level <level>', 'lowest level of entries').choices(LogLevel.options))
    .addOption(new Option('--compression <kind>', 'compression of requests').choices(['none', 'gzip']))
    .option('--header-stdin <name>', 'header of each request, with its value from stdin')
    .option('--remove-header <name>', 'header to remove (repeatable)', collect)
    .option(
      '-F, --file <file>',
      'file with a JSON object of enabled, endpoint, headers, minLevel and compression, or - for stdin',
    )
    .addOption(new Option('--test', 'send one entry, and show the response').conflicts(setters))
    .action(async (options: Options) => {
      const context = await openUserContext(command)
      if (options.test) return test(context)
      const isSet = setters.some(name => options[name as keyof Options] !== undefined)
      await context.out.record(isSet ? await set(context, options) : await context.client.logs.getExport(), fields)
    })
  prints(command, 'logs.getExport')
  example(
    command,
    'board settings log-export',
    'board settings log-export --on --endpoint https://otel.example.com',
    'board settings log-export --header-stdin x-api-key < key.txt',
    'board settings log-export --test',
  )
}

async function set({ client, out }: Context, options: Options): Promise<LogExport> {
  if (options.file !== undefined && options.headerStdin !== undefined && options.file === '-')
    throw usage('-F - and --header-stdin both read stdin')
  const change = {
    ...(options.file !== undefined && ((await readJson(options.file, '-F')) as Change)),
    ...exportFieldsOf(options),
  }
  if (options.headerStdin !== undefined || options.removeHeader) {
    // Headers with a masked value keep their stored value.
    const headers = { ...(change.headers ?? (await client.logs.getExport()).headers) }
    for (const name of options.removeHeader ?? [])
      for (const present of Object.keys(headers))
        if (present.toLowerCase() === name.toLowerCase()) delete headers[present]
    if (options.headerStdin !== undefined) headers[options.headerStdin] = await readStdin('--header-stdin')
    change.headers = headers
  }
  const changed = await client.logs.setExport(change)
  out.done(
    changed.enabled
      ? `The log is sent to ${changed.endpoint}. To test it: board settings log-export --test`
      : 'The log is not sent.',
  )
  return changed
}

const exportFieldsOf = ({ on, off, endpoint, minLevel, compression }: Options): Change => ({
  ...(on && { enabled: true }),
  ...(off && { enabled: false }),
  ...(endpoint !== undefined && { endpoint }),
  ...(minLevel && { minLevel }),
  ...(compression && { compression }),
})

async function test({ client, out }: Context): Promise<void> {
  const tested = await client.logs.testExport()
  await out.record(tested, testFields)
  if (!tested.ok)
    throw new Failure('failure', 'the receiver rejected the entry', {
      hint: tested.error ?? undefined,
      see: 'board settings log-export',
    })
}
