import { Argument, type Command } from 'commander'
import { openBrowser } from '../browser/openBrowser.ts'
import { openContext } from '../context/context.ts'
import { Failure } from '../failures/failure.ts'
import { example } from '../help/help.ts'

const pages = { home: '/', docs: '/api/docs', openapi: '/api/openapi.json' }

export function register(command: Command): void {
  example(
    command
      .addArgument(new Argument('[page]', 'which page').choices(Object.keys(pages)).default('home'))
      .description(
        'Open a page of the server in your browser: its home, the documentation of its API, or the API as a document.',
      )
      .option('--print', 'print the address and open nothing'),
    'board browse docs',
    'curl -s "$(board browse openapi --print)" > board.json',
  ).action(async (page: keyof typeof pages, { print }: { print?: boolean }) => {
    const { out, connection } = await openContext(command)
    const address = `${connection.url.replace(/\/$/, '')}${pages[page]}`
    if (print) return out.json ? out.value({ url: address }) : out.line(address)
    if (!(await openBrowser(address)))
      throw new Failure('failure', 'there is no browser to open', {
        hint: `open it yourself: ${address}`,
        see: 'board help environment',
      })
    out.done(`Opened ${address}`)
  })
}
