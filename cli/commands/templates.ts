import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Contract } from '../../src/contract/index.ts'
import { ColumnType } from '../../src/contract/fields.ts'
import type { Output, Sent } from '../../src/contract/route.ts'
import { openUserContext } from '../context/context.ts'
import { usage } from '../failures/failure.ts'
import { example, prints } from '../help/help.ts'
import type { Column } from '../output/output.ts'
import { confirm } from '../input/prompt.ts'
import { readJson } from '../input/readJson.ts'
import { resolveTemplate } from '../context/resolve.ts'

type Template = Output<Contract['templates']['create']>
type TemplateColumns = Sent<Contract['templates']['create']>['columns']
interface ColumnOptions {
  shared?: boolean
  column?: TemplateColumns
  columnsFile?: string
}

const columns: Column<Template>[] = [
  { name: 'id', style: 'id', align: 'right', value: template => template.id },
  { name: 'name', style: 'title', value: template => template.name },
  { name: 'builtin', header: 'BUILT IN', value: template => template.builtin },
  { name: 'shared', value: template => template.shared },
  {
    name: 'columns',
    style: 'text',
    value: template => template.columns.map(({ name, columnType }) => `${name} (${columnType})`),
  },
]

export function register(templates: Command): void {
  const list = templates
    .command('list')
    .summary('List board templates')
    .description('List the board templates that you can use: built-in, shared and your own.')
    .action(async () => {
      const context = await openUserContext(list)
      const found = await context.client.templates.list()
      await (context.out.json ? context.out.list(found, columns.slice(0, 4)) : context.out.list(found, columns))
    })
  prints(list, 'templates.list')
  example(list, 'board templates list', 'board templates list --json name,columns')

  const create = addColumnOptions(
    templates
      .command('create <name>')
      .summary('Create a board template')
      .description(
        'Create a board template with columns in the specified order. Other users can use it only if an admin shares it.',
      ),
  )
    .option('--shared', 'share the template with all users (admins only)')
    .action(async (name: string, options: ColumnOptions) => {
      const wanted = await readColumns(options)
      if (!wanted)
        throw usage('which columns?', {
          hint: 'specify --column, for example --column Build:active, or --columns-file',
          see: 'board templates create --help',
        })
      const context = await openUserContext(create)
      const template = await context.client.templates.create({ name, columns: wanted, shared: options.shared })
      context.out.done(`Created template ${template.id}.`)
      await context.out.record(template, columns)
    })
  prints(create, 'templates.list')
  example(
    create,
    'board templates create Release --column Todo:backlog --column Build:active --column Shipped:done',
    'board templates create Release -F columns.json',
  )
  registerEdit(templates)
  registerDelete(templates)
}

function registerEdit(templates: Command): void {
  const edit = addColumnOptions(
    templates
      .command('edit <template>')
      .summary('Change a board template')
      .description(
        'Change the name or the columns of a board template. Boards that were created from the template are unchanged.',
      ),
  )
    .option('--name <name>', 'new name')
    .option('--shared', 'share the template with all users (admins only)')
    .option('--no-shared', 'make the template private')
    .action(async (wanted: string, options: ColumnOptions & { name?: string }) => {
      const changed = await readColumns(options)
      if (options.name === undefined && options.shared === undefined && !changed)
        throw usage('nothing to change', {
          hint: 'specify --name, --shared, --column or --columns-file',
          see: 'board templates edit --help',
        })
      const context = await openUserContext(edit)
      const { id } = await resolveTemplate(context, wanted)
      const edited = await context.client.templates.update({
        id,
        name: options.name,
        columns: changed,
        shared: options.shared,
      })
      await context.out.did(edited, `Edited template ${id}.`)
    })
  prints(edit, 'templates.list')
  example(edit, 'board templates edit Release --name "Release train"')
}

function registerDelete(templates: Command): void {
  const command = templates
    .command('delete <template>')
    .summary('Delete a board template')
    .description('Delete a board template. Boards that were created from it remain.')
    .option('-y, --yes', 'skip the confirmation prompt')
    .action(async (wanted: string, { yes }: { yes?: boolean }) => {
      const context = await openUserContext(command)
      const { id, name } = await resolveTemplate(context, wanted)
      await confirm(context, `Delete template ${id} "${name}"?`, yes)
      await context.client.templates.delete({ id })
      context.out.done(`Deleted template ${id}.`)
    })
  example(command, 'board templates delete Release')
}

const addColumnOptions = (command: Command): Command =>
  command
    .addOption(new Option('--column <name:type>', 'name and type of a column (repeatable)').argParser(templateColumn))
    .addOption(
      new Option(
        '-F, --columns-file <file>',
        'columns as JSON, or - for stdin: [{"name", "columnType", "prompt", "wipLimit", "pull"}]',
      ).conflicts('column'),
    )

function templateColumn(text: string, before: TemplateColumns | undefined): TemplateColumns {
  const [, name, type] = /^(.+):(\w+)$/.exec(text) ?? []
  const columnType = ColumnType.options.find(each => each === type)
  if (!name || !columnType)
    throw new InvalidArgumentError(`must be a name, a colon and one of ${ColumnType.options.join(', ')}.`)
  return [...(before ?? []), { name, columnType }]
}

/** Returns the columns from the options. The server validates the columns of a file. */
async function readColumns({ column, columnsFile }: ColumnOptions): Promise<TemplateColumns | undefined> {
  if (columnsFile === undefined) return column
  const read = await readJson(columnsFile, '--columns-file')
  return (Array.isArray(read) ? read : ((read as { columns?: unknown } | null)?.columns ?? read)) as TemplateColumns
}
