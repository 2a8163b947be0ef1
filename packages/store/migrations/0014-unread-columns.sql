-- What was written and is read by nobody. The account is `charges`; checkpoints have tables of their own, and name no blobs.
alter table runs drop column calls, drop column prompt_tokens, drop column completion_tokens, drop column nanodollars;

drop trigger session_names_blob on sessions;
drop function name_session_blob();
delete from blob_references where kind = 'session';
alter table sessions drop column checkpoint_hash;
