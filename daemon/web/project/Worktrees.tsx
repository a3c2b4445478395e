import { Fragment } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { say } from '../app/messages.ts'
import { useLoad } from '../app/load.ts'
import { client } from '../app/session.ts'
import { Button } from '../ui/Button.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Form } from '../ui/Form.tsx'
import { linesOf, TextArea, TextInput, useFields } from '../ui/Inputs.tsx'
import { Await } from '../ui/Page.tsx'
import type { SectionProps } from './ProjectPage.tsx'

type Found = Output<Contract['projects']['getWorktree']>
type BoardFile = NonNullable<Found['boardFile']>

const commands = [
  ['setup', 'Setup', 'Runs once in a new worktree: npm ci'],
  ['beforeRun', 'Before each run', 'Runs before each session of an agent'],
  ['afterRun', 'After each run', 'Runs after each session, before the card is completed'],
  ['cleanup', 'Cleanup', 'Runs before a worktree is removed'],
  ['preview', 'Preview', 'Serves the worktree at $BOARD_PORT while somebody looks at it'],
  ['subfolder', 'Subfolder', 'Where agents work, below the project: packages/web'],
] as const
const numbers = [
  ['ports', 'Ports of each card', 'BOARD_PORT, BOARD_PORT_2 and so on'],
  ['minutes', 'Time of each command, in minutes', 'The preview has none'],
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
          {props.mayManage && <Settings {...props} found={found} onSaved={loaded.reload} />}
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
    say('Agreed. It holds from the next start of an agent on.')
  }
  const withdraw = async () => {
    await client.projects.withdrawAgreement({ id })
    onChange(await client.projects.getWorktree({ id }))
  }
  return (
    <div className="panel">
      <h3>board.json</h3>
      {problem !== null && <p className="hint">It is not used: {problem}.</p>}
      {problem === null && (
        <p className="hint">
          {agreed
            ? `It is used${agreed.by === null ? '' : `: ${agreed.by} has agreed to this version`}.`
            : 'It lies in the project’s folder, and nothing of it is used before a member agrees to this version.'}
        </p>
      )}
      {settings && (
        <dl className="facts">
          {commands.map(
            ([name, label]) =>
              settings[name] !== '' && (
                <Fragment key={name}>
                  <dt>{label}</dt>
                  <dd>
                    <code>{settings[name]}</code>
                  </dd>
                </Fragment>
              ),
          )}
          {settings.copiedFiles.length > 0 && (
            <>
              <dt>Copies</dt>
              <dd>{settings.copiedFiles.join(', ')}</dd>
            </>
          )}
        </dl>
      )}
      <div className="buttons">
        {mayWork && settings && !agreed && (
          <Button
            isMain
            onClick={() =>
              confirm({
                title: 'Agree to board.json?',
                text: 'Cards of this project run these commands from now on, in the sandbox of the agents.',
                submit: 'Agree',
                run: agree,
              })
            }
          >
            Agree to this version
          </Button>
        )}
        {mayWork && agreed && <Button onClick={withdraw}>Withdraw the agreement</Button>}
      </div>
    </div>
  )
}

function Settings({ project, onChange, found, onSaved }: SectionProps & { found: Found; onSaved: () => void }) {
  const own = project.worktree
  const file = found.boardFile?.agreed ? found.boardFile.settings : null
  const { values, bind } = useFields({
    ...Object.fromEntries(commands.map(([name]) => [name, own[name] === '' ? 'none' : (own[name] ?? '')])),
    ...Object.fromEntries(numbers.map(([name]) => [name, own[name] === null ? '' : String(own[name])])),
    copiedFiles: own.copiedFiles.join('\n'),
  } as Record<(typeof commands)[number][0] | (typeof numbers)[number][0] | 'copiedFiles', string>)
  const save = async () => {
    const worktree = {
      ...Object.fromEntries(commands.map(([name]) => [name, values[name] === 'none' ? '' : values[name] || null])),
      ...Object.fromEntries(numbers.map(([name]) => [name, values[name] === '' ? null : Number(values[name])])),
      copiedFiles: linesOf(values.copiedFiles),
    }
    onChange(await client.projects.update({ id: project.id, worktree }))
    onSaved()
    say('Saved. It holds from the next start of an agent on.')
  }
  /** What holds where nothing is said here. */
  const fallback = (name: Exclude<keyof typeof values, 'copiedFiles'>) =>
    file ? `board.json: ${file[name] === '' ? 'none' : file[name]}` : undefined
  return (
    <div className="panel">
      <h3>Worktrees</h3>
      <p className="hint">
        Commands run with sh in the sandbox of the agents, without their credentials. An empty field leaves it to
        board.json; none is none. A worktree holds what Git tracks, and no hook or filter runs in it.
      </p>
      <Form submit="Save the worktrees" onSubmit={save}>
        {commands.map(([name, label, hint]) => (
          <TextInput
            key={name}
            label={label}
            hint={hint}
            placeholder={fallback(name)}
            spellCheck={false}
            {...bind(name)}
            field={`worktree.${name}`}
          />
        ))}
        {numbers.map(([name, label, hint]) => (
          <TextInput
            key={name}
            label={label}
            hint={hint}
            placeholder={fallback(name)}
            type="number"
            min={0}
            {...bind(name)}
            field={`worktree.${name}`}
          />
        ))}
        <TextArea
          label="Ignored files to copy"
          hint="One pattern a line: .env, config/*.local"
          spellCheck={false}
          {...bind('copiedFiles')}
          field="worktree.copiedFiles"
        />
      </Form>
    </div>
  )
}
