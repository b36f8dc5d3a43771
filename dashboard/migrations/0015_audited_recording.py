from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0014_job_tags"),
    ]

    operations = [
        migrations.AddField(
            model_name="jobaudit",
            name="content_id",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="jobaudit",
            name="epochs",
            field=models.IntegerField(blank=True, null=True),
        ),
    ]
