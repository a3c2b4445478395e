import { announce, showMessage } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Check, useFields } from '../ui/Inputs.tsx'
import type { Place, Pull, PullDraft } from './pullRequest.ts'
import { namesIn, PullRequestNames, PullRequestTexts } from './PullRequestTexts.tsx'

interface EditPullRequestProps {
  place: Place
  pull: Pull
  /** What it says on the forge now. */
  present: PullDraft
  onChanged: (pull: Pull) => void
  onClose: () => void
}

/** What an open pull request is to say. What is not changed here is not sent, so that nothing of somebody else's is undone. */
export function EditPullRequest({ place, pull, present, onChanged, onClose }: EditPullRequestProps) {
  // Others cannot be told apart in the field; they stay as they are.
  const labels = present.labels.filter(name => !name.includes(','))
  const { values, bind } = useFields({
    title: present.title,
    body: present.body,
    draft: pull.draft,
    reviewers: present.reviewers.join(', '),
    labels: labels.join(', '),
  })
  const save = async () => {
    const [addReviewers, removeReviewers] = difference(present.reviewers, namesIn(values.reviewers))
    const [addLabels, removeLabels] = difference(labels, namesIn(values.labels))
    const change = {
      title: values.title === present.title ? undefined : values.title,
      body: values.body === present.body ? undefined : values.body,
      draft: values.draft === pull.draft ? undefined : values.draft,
      addReviewers,
      removeReviewers,
      addLabels,
      removeLabels,
    }
    if (Object.values(change).some(value => value !== undefined)) {
      const { notTaken, ...changed } = await client.pullRequests.update({ ...place, ...change })
      onChanged(changed)
      if (notTaken.length === 0) announce(`#${pull.number} is changed.`)
      for (const each of notTaken) showMessage(each)
    }
    onClose()
  }
  return (
    <FormDialog title={`Edit #${pull.number}`} kind="wide" submit="Save" onSubmit={save} onClose={onClose}>
      <PullRequestTexts bind={bind} />
      <PullRequestNames bind={bind} />
      <Check label="As a draft" {...bind('draft')} />
    </FormDialog>
  )
}

/** What is new in a list of names, and what is gone from it; undefined where nothing is. */
const difference = (before: readonly string[], after: readonly string[]) =>
  [after.filter(name => !before.includes(name)), before.filter(name => !after.includes(name))].map(names =>
    names.length === 0 ? undefined : names,
  )
