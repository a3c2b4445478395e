import { Fragment } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { showMessage } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { linesOf, TextArea, TextInput } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import { plainText } from '../ui/plainText.ts'
import { SettingsForm } from '../ui/SettingsForm.tsx'
import type { SectionProps } from './sectionProps.ts'

type Found = Output<Contract['projects']['getWorktree']>
type BoardFile = NonNullable<Found['boardFile']>

const commands = [
  ['setup', 'Setup', 'Runs once in a new worktree: npm ci'],
  ['beforeRun', 'Before each run', 'Runs before each session of an agent'],
  ['afterRun', 'After each run', 'Runs after each session, before the card is completed'],
  ['cleanup', 'Cleanup', 'Runs before a worktree is removed'],
  ['preview', 'Preview', 'Serves the worktree at $BOARD_PORT while the preview is open'],
] as const
const subfolder = ['subfolder', 'Subfolder', 'The folder in the project where agents work: packages/web'] as const
const texts = [...commands, subfolder] as const
const numbers = [
  ['ports', 'Ports of each card', 'BOARD_PORT, BOARD_PORT_2 and so on'],
  ['minutes', 'Time limit of each command, in minutes', 'Does not apply to the preview'],
] as const

/** How the worktrees of a project's cards are prepared and served. */
export function WorktreesSection(props: SectionProps) {
  const { id } = props.project
  const loaded = useLoad(() => client.projects.getWorktree({ id }), [id])
  return (
    <Await of={loaded}>
      {found => (
        <>
          {found.boardFile && (
            <BoardFilePanel file={found.boardFile} projectId={id} mayWork={props.mayWork} onChange={loaded.set} />
          )}
          {props.mayManage ? (
            <Settings {...props} found={found} onSaved={loaded.reload} />
          ) : (
            <div className="panel">
              <h3>Current settings</h3>
              <SettingsList settings={found.effective} />
            </div>
          )}
        </>
      )}
    </Await>
  )
}

interface FileProps {
  file: BoardFile
  projectId: string
  mayWork: boolean
  onChange: (found: Found) => void
}

function BoardFilePanel({ file, projectId: id, mayWork, onChange }: FileProps) {
  const { settings, version, agreed, problem } = file
  const agree = async () => {
    if (version !== null) onChange(await client.projects.agreeToBoardFile({ id, version }))
    showMessage('Agreed to board.json for future starts of agents.')
  }
  const withdraw = async () => {
    await client.projects.withdrawAgreement({ id })
    onChange(await client.projects.getWorktree({ id }))
  }
  const askToAgree = () =>
    confirm({
      title: 'Agree to board.json?',
      text: 'Cards of this project then run these commands in the sandbox of the agents.',
      submit: 'Agree',
      isDanger: false,
      run: agree,
    })
  return (
    <div className="panel">
      <h3>board.json</h3>
      {problem !== null && <p className="hint">board.json is not used: {plainText(problem)}.</p>}
      {problem === null && (
        <p className="hint">
          {agreed
            ? `board.json is in use${agreed.by === null ? '' : `: ${agreed.by} has agreed to this version`}.`
            : 'The project’s folder contains board.json. It is used only after a member agrees to its current version.'}
        </p>
      )}
      {settings && <SettingsList settings={settings} />}
      {mayWork && (settings || agreed) && (
        <div className="buttons">
          {agreed ? (
            <Button onClick={withdraw}>Withdraw agreement</Button>
          ) : (
            <Button isMain onClick={askToAgree}>
              Agree
            </Button>
          )}
        </div>
      )}
    </div>
  )
}

/** The commands line by line, with visible control characters, so that a member who agrees sees all of them. */
function SettingsList({ settings }: { settings: Found['effective'] }) {
  const { copiedFiles, ports, minutes } = settings
  const given = texts.filter(([name]) => settings[name] !== '')
  if (given.length === 0 && copiedFiles.length === 0 && ports === 0)
    return <p>No command runs, and no file is copied.</p>
  return (
    <dl className="facts">
      {given.map(([name, label]) => (
        <Fragment key={name}>
          <dt>{label}</dt>
          <dd>
            <code>{plainText(settings[name])}</code>
          </dd>
        </Fragment>
      ))}
      {copiedFiles.length > 0 && (
        <>
          <dt>Ignored files to copy</dt>
          <dd>
            <code>{plainText(copiedFiles.join('\n'))}</code>
          </dd>
        </>
      )}
      {ports > 0 && (
        <>
          <dt>Ports of each card</dt>
          <dd>{ports}</dd>
        </>
      )}
      <dt>Time limit of each command</dt>
      <dd>{minutes === 1 ? '1 minute' : `${minutes} minutes`}</dd>
    </dl>
  )
}

type FieldName = (typeof texts)[number][0] | (typeof numbers)[number][0] | 'copiedFiles'

/** Returns the project's own settings as form fields. An empty field uses board.json, and `none` disables the setting. */
const fieldsOf = (own: SectionProps['project']['worktree']) =>
  ({
    ...Object.fromEntries(texts.map(([name]) => [name, own[name] === '' ? 'none' : (own[name] ?? '')])),
    ...Object.fromEntries(numbers.map(([name]) => [name, own[name] === null ? '' : String(own[name])])),
    copiedFiles: own.copiedFiles.join('\n'),
  }) as Record<FieldName, string>

const settingsOf = (values: Record<FieldName, string>) => ({
  ...Object.fromEntries(texts.map(([name]) => [name, values[name] === 'none' ? '' : values[name] || null])),
  ...Object.fromEntries(numbers.map(([name]) => [name, values[name] === '' ? null : Number(values[name])])),
  copiedFiles: linesOf(values.copiedFiles),
})

function Settings({ project, onChange, found, onSaved }: SectionProps & { found: Found; onSaved: () => void }) {
  const save = async (values: Record<FieldName, string>) => {
    onChange(await client.projects.update({ id: project.id, worktree: settingsOf(values) }))
    onSaved()
  }
  const file = found.boardFile?.agreed ? found.boardFile.settings : null
  return (
    <SettingsForm
      title="Worktrees"
      hint="Commands run with sh in the sandbox of the agents, without their credentials. An empty field uses board.json, and none disables the setting. A worktree contains the files that Git tracks. Hooks and filters don’t run in it."
      submit="Save worktrees"
      saved="Saved the worktree settings for future starts of agents."
      initial={fieldsOf(project.worktree)}
      save={save}
    >
      {({ bind }) => {
        /** Returns the label and hint of a text or number field. The hint shows the value of an empty field. */
        const about = ([name, label, hint]: readonly [Exclude<FieldName, 'copiedFiles'>, string, string]) => ({
          ...bind(name),
          label,
          hint,
          field: `worktree.${name}`,
          placeholder: file ? `board.json: ${file[name] === '' ? 'none' : file[name]}` : undefined,
        })
        return (
          <>
            {commands.map(each => (
              <TextArea key={each[0]} rows={2} className="mono" spellCheck={false} {...about(each)} />
            ))}
            <TextInput spellCheck={false} {...about(subfolder)} />
            {numbers.map(each => (
              <TextInput key={each[0]} type="number" min={0} {...about(each)} />
            ))}
            <TextArea
              label="Ignored files to copy"
              hint="One pattern per line, in the syntax of .gitignore: .env, config/*.local, !test.env"
              className="mono"
              spellCheck={false}
              {...bind('copiedFiles')}
              field="worktree.copiedFiles"
            />
          </>
        )
      }}
    </SettingsForm>
  )
}
