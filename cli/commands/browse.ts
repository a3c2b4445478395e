import { Argument, type Command } from 'commander'
import { pagePath, showDocument, showPage } from '../browser/openPage.ts'
import { getCard, inItsProject } from '../cards/cardApi.ts'
import { openContext, type Context } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'

const documents = { docs: '/docs', api: '/api/docs', openapi: '/api/openapi.json' }
const pages = ['home', 'board', 'card', 'diff', ...Object.keys(documents)] as const
type PageName = 'home' | 'board' | 'card' | 'diff' | keyof typeof documents

export function register(command: Command): void {
  prints(command, null, 'url')
  example(
    command
      .addArgument(new Argument('[page]', 'page to open').choices(pages).default('home'))
      .argument('[card]', 'card to open, for card and diff')
      .description(
        'Open the page in your browser, with your current sign-in: your inbox (home), the board of the current project, a card, the diff of a card, the documentation (docs), or the description of the API (api, openapi).',
      )
      .option('--print', 'print the address without opening it'),
    'board browse',
    'board browse board -P web',
    'board browse diff 12',
    'curl -s "$(board browse openapi --print)" > board.json',
  ).action(async (page: PageName, card: string | undefined, { print }: { print?: boolean }) => {
    if ((page === 'card' || page === 'diff') !== (card !== undefined))
      throw usage(
        card === undefined ? `${page} requires a card: board browse ${page} 12` : `${page} does not accept a card`,
      )
    const context = await openContext(command)
    if (page === 'docs' || page === 'api' || page === 'openapi') return showDocument(context, documents[page], print)
    await showPage(context, await resolvePage(context, page, card ?? ''), print)
  })
}

async function resolvePage(
  context: Context,
  page: Exclude<PageName, keyof typeof documents>,
  card: string,
): Promise<string> {
  if (page === 'home') return pagePath.home
  if (page === 'board') return pagePath.project((await context.project()).id)
  const { projectId, id } = await inItsProject(context, card, place => getCard(context, place))
  return pagePath[page === 'card' ? 'card' : 'changes'](projectId, id)
}
