import { client } from '../app/session.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, TextInput, useFields } from '../ui/Inputs.tsx'
import type { Place, Pull, PullDraft } from './pullRequest.ts'
import { namesIn, PullRequestNames, PullRequestTexts } from './PullRequestTexts.tsx'
import { showMessage } from '../app/messages.ts'

interface NewPullRequestProps {
  place: Place
  draft: PullDraft
  onCreated: (pull: Pull) => void
  onClose: () => void
}

/** The title and body of a pull request before it is opened. */
export function NewPullRequest({ place, draft, onCreated, onClose }: NewPullRequestProps) {
  const { values, bind } = useFields({
    title: draft.title,
    body: draft.body,
    base: draft.base,
    reviewers: '',
    labels: '',
    draft: false,
    autoMerge: false,
  })
  const create = async () => {
    const names = { reviewers: namesIn(values.reviewers), labels: namesIn(values.labels) }
    const { notTaken, ...pull } = await client.pullRequests.create({ ...place, ...values, ...names })
    onCreated(pull)
    for (const each of notTaken) showMessage(each)
    onClose()
  }
  return (
    <FormDialog title="Open pull request" kind="wide" submit="Open" onSubmit={create} onClose={onClose}>
      <PullRequestTexts bind={bind} />
      <TextInput label="Target branch" required maxLength={200} {...bind('base')} />
      <PullRequestNames bind={bind} />
      <Check label="As a draft" {...bind('draft')} />
      <Check label="Auto-merge" {...bind('autoMerge')} />
    </FormDialog>
  )
}
