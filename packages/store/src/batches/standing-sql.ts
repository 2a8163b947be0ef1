/** The status (`standing`) of a submission, in SQL: derived at each read from the run of its last attempt, and stored nowhere. */

/** Submissions `w` with their last attempt `l` and its run `r`. */
export const worksWithRuns = `batch_works w
  left join lateral (
    select t.* from batch_runs t where t.batch_id = w.batch_id and t.work = w.key order by t.try desc limit 1
  ) l on true
  left join runs r on r.id = l.run_id`;

/** The status of an attempt `l` with its run `r`. */
export const tryStanding = `case
    when l.deleted_at is not null then 'deleted'
    when l.refusal is not null then 'refused'
    when r.id is null then 'waiting'
    when r.ended_at is null then 'running'
    when r.status = 'success' then 'succeeded'
    else 'failed' end`;

/** The status of a submission in `worksWithRuns`. */
export const standing = `case
    when w.hash is null then 'ungradable'
    when not w.counts then 'not counted'
    when l.id is null then 'waiting'
    else ${tryStanding} end`;

/** The last grade of a tree, by its root's id: from the last GRADE that was completed. One row `grade`, or none. */
export const gradeOfTree = (root: string) => `
  select e.body::json -> 'outcome' -> 'grade' as grade
  from (select ${root} as id union all select c.id from runs c where c.root_id = ${root} and c.root_id <> c.id) tree
    join activities a on a.run_id = tree.id and a.kind = 'grade' and a.state = 'done'
    join events e on e.run_id = a.run_id and e.seq = a.seq and e.part = 0 and e.type = 'activity.succeeded'
  order by a.ended_at desc, a.id desc limit 1`;

/** For the present content of submission `w`: the last attempt that ended with a grade. One row `try`, `grade`, `rubricHash`, or none. */
export const proposalOfWork = `
  select t.try, g.grade, t.rubric_hash as "rubricHash"
  from batch_runs t join runs k on k.id = t.run_id and k.ended_at is not null
    cross join lateral (${gradeOfTree("t.run_id")}) g
  where t.batch_id = w.batch_id and t.work = w.key and t.hash = w.hash and g.grade is not null
  order by t.try desc limit 1`;
