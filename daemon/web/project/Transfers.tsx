import { useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { announce, showError, showMessage } from '../app/messages.ts'
import { loadProjects } from '../app/projects.ts'
import { hrefOf } from '../app/router.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Form } from '../ui/Form.tsx'
import { Check, Choice, TextArea, TextInput, linesOf, useFields } from '../ui/Inputs.tsx'
import { saveFile } from '../ui/saveFile.ts'
import type { SectionProps } from './sectionProps.ts'

type Report = Output<Contract['transfers']['import']>
type Format = 'board' | 'trello' | 'github' | 'markdown'

/** Exports the project to a file, and imports files into it. */
export function TransfersSection(props: SectionProps) {
  return (
    <>
      <Export {...props} />
      {props.mayWork && <Import {...props} />}
    </>
  )
}

function Export({ project }: SectionProps) {
  const download = async () => {
    saveFile(await client.transfers.exportProject({ id: project.id }))
    showMessage('The export was downloaded.')
  }
  return (
    <div className="panel">
      <h3>Export</h3>
      <p>
        The project as JSON, with its boards, cards, transcripts, reviews and attachments. The export contains no
        secrets.
      </p>
      <div className="tools">
        <Button icon="down" onClick={download}>
          Download
        </Button>
      </div>
    </div>
  )
}

const formats: readonly (readonly [Format, string])[] = [
  ['board', 'an export of a board'],
  ['trello', 'Trello (JSON)'],
  ['github', 'GitHub issues (JSON)'],
  ['markdown', 'Markdown task list'],
]
const targets = [
  ['here', 'this project'],
  ['new', 'new projects'],
] as const

function Import({ project }: SectionProps) {
  const fields = useFields<Chosen>({
    file: undefined,
    format: 'board',
    target: 'here',
    path: '',
    map: '',
    withPullRequests: false,
  })
  const [tried, setTried] = useState<Report>()
  const [made, setMade] = useState<Report>()
  const [sent, setSent] = useState<{ bytes: number; total: number }>()
  const { values, setValues } = fields
  // A dry run is valid only for the choices at that time.
  const change = (part: Partial<Chosen>) => {
    setTried(undefined)
    setMade(undefined)
    setValues(before => ({ ...before, ...part }))
  }
  const send = async (dryRun: boolean) => {
    const { file } = values
    if (!file) throw new Error('Choose a file first.')
    setSent({ bytes: 0, total: file.size })
    try {
      return await client.transfers.import({
        ...inputOf(values, project.id),
        dryRun: dryRun ? 'true' : 'false',
        file: { file, filename: file.name, onProgress: (bytes, total) => setSent({ bytes, total }) },
      })
    } finally {
      setSent(undefined)
    }
  }
  const run = async () => {
    const report = await send(false)
    setTried(undefined)
    setMade(report)
    announce('Imported the file.')
    loadProjects().catch(showError)
  }
  return (
    <div className="panel">
      <h3>Import</h3>
      <Form submit={tried ? 'Retry' : 'Dry run'} onSubmit={async () => setTried(await send(true))}>
        <Choose values={values} onChange={change} />
      </Form>
      {sent && <Progress {...sent} />}
      {tried && (
        <>
          <Summary report={tried} />
          <div className="buttons">
            <Button isMain onClick={run}>
              Import now
            </Button>
          </div>
        </>
      )}
      {made && <Summary report={made} />}
    </div>
  )
}

interface Chosen {
  file: File | undefined
  format: Format
  target: 'here' | 'new'
  path: string
  map: string
  withPullRequests: boolean
}

function inputOf({ format, target, path, map, withPullRequests }: Chosen, projectId: string) {
  return {
    format,
    ...(target === 'here' ? { projectId: Number(projectId) } : path !== '' && { path }),
    ...(format !== 'board' && map.trim() !== '' && { map: JSON.stringify(mapOf(map)) }),
    ...(format === 'github' && withPullRequests && { withPullRequests: 'true' as const }),
  }
}

function mapOf(text: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(text).map(line => {
      const [from, to] = line.split('=').map(part => part.trim())
      if (!from || !to) throw new Error(`"${line}" has no column. Write list = column.`)
      return [from, to]
    }),
  )
}

function Choose({ values, onChange }: { values: Chosen; onChange: (part: Partial<Chosen>) => void }) {
  const bind = <K extends keyof Chosen>(key: K) => ({
    value: values[key],
    onChange: (value: Chosen[K]) => onChange({ [key]: value }),
    field: key,
  })
  return (
    <>
      <Field label="File" field="file">
        {props => (
          <input
            {...props}
            type="file"
            required
            onChange={({ target: { files } }) => {
              const file = files?.[0]
              onChange({ file, ...(file && /\.(md|markdown)$/i.test(file.name) && { format: 'markdown' }) })
            }}
          />
        )}
      </Field>
      <Choice label="Format" options={formats} {...bind('format')} />
      <Choice label="Into" options={targets} {...bind('target')} />
      {values.target === 'new' && (
        <TextInput
          label="Folder of the new project"
          spellCheck={false}
          hint="For imports without a folder on this server."
          {...bind('path')}
        />
      )}
      {values.format !== 'board' && (
        <TextArea
          label="Lists and columns"
          hint="For names that differ, one per line: list = column."
          spellCheck={false}
          {...bind('map')}
        />
      )}
      {values.format === 'github' && <Check label="Include pull requests" {...bind('withPullRequests')} />}
    </>
  )
}

const Progress = ({ bytes, total }: { bytes: number; total: number }) => (
  <div role="group" aria-label="Import">
    <progress aria-label="Sent" value={bytes} max={total || 1} />
    <span className="dim">
      {' '}
      {bytes < total ? `${Math.round((100 * bytes) / (total || 1))} % sent` : 'The server is reading the file…'}
    </span>
  </div>
)

const counted = ['projects', 'boards', 'columns', 'cards', 'attachments'] as const

/** The result of an import or a dry run. */
function Summary({ report }: { report: Report }) {
  const counts = counted.filter(name => report[name] > 0).map(name => `${report[name]} ${name}`)
  return (
    <section className="notice stacked" aria-label={report.dryRun ? 'Result of the dry run' : 'Result of the import'}>
      <p>
        {report.dryRun ? 'The import would create ' : 'The import created '}
        {counts.length > 0 ? counts.join(', ') : 'nothing'}.{report.dryRun && ' Nothing has been changed yet.'}
      </p>
      {report.warnings.length > 0 && (
        <details open>
          <summary>{report.warnings.length} items cannot be imported</summary>
          <ul className="bullets">
            {report.warnings.map((warning, at) => (
              <li key={at}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
      {report.projectIds.map(projectId => (
        <a key={projectId} href={hrefOf({ name: 'board', projectId })}>
          Open the board{report.projectIds.length > 1 && ` of project ${projectId}`}
        </a>
      ))}
    </section>
  )
}
